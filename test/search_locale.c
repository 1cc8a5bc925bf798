/* search_locale.c -- tests the library inside a program whose numbers have a decimal comma. Rules
   with fractions are loaded (their verdicts are sealed over their text), the numbers of the report
   have a point, and the program's locale stays as it was. */
#include "search/isomer.h"
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Builds a locale from its source and enters it. Debian's package `locales` contains what localedef
   needs. */
static void enter_comma(void) {
    char folder[] = "/tmp/isomer-locale-XXXXXX", command[400];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \"\"\\ngrouping "
             "-1\\nEND LC_NUMERIC\\n' >source && "
             "localedef --no-archive -c -i source ./comma 2>/dev/null; test -f comma/LC_NUMERIC",
             folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    const char *entered = setlocale(LC_NUMERIC, "comma");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_non_null(entered);
}

static void test_comma(void **state) {
    (void)state;
    char number[16];
    IsomerOptions o;
    IsomerResult plain, comma;
    isomer_options(&o);
    assert_int_equal(isomer_list_rules(&o, &plain), 0);
    enter_comma();
    int code = isomer_list_rules(&o, &comma);
    if (code) fail_msg("%s", comma.message);
    assert_string_equal(comma.table, plain.table);
    snprintf(number, sizeof number, "%g", 1.5);
    assert_string_equal(number, "1,5");
    isomer_result_free(&plain);
    isomer_result_free(&comma);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comma)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
