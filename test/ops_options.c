/* ops_options.c -- tests every kind of option in every form, every error message, and the help
   text. */
#include "ops/base/options.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

typedef struct Values {
    bool quiet;
    int64_t steps, check;
    double alpha;
    const char *rules;
    StringList dims;
    int verbose;
    const char *effort;
} Values;

typedef struct Case {
    Arena *arena;
    Values values;
    StringList rest;
    Error error;
} Case;

static const OptionDef table[] = {
    {.kind = OPT_HEAD, .help = "Search"},
    {.name = "steps",
     .letter = 'n',
     .kind = OPT_INT,
     .at = offsetof(Values, steps),
     .value = "N",
     .help = "Steps.",
     .default_value = 7,
     .least = 1,
     .most = 1000},
    {.name = "alpha",
     .kind = OPT_REAL,
     .at = offsetof(Values, alpha),
     .value = "X",
     .help = "How much worse a graph may be than the best one to be kept, as a factor; more is "
             "slower."},
    {.name = "rules",
     .letter = 'r',
     .kind = OPT_TEXT,
     .at = offsetof(Values, rules),
     .value = "FILE|none",
     .help = "Rules.",
     .old_name = "lib"},
    {.name = "former-rules", .kind = OPT_TEXT, .at = offsetof(Values, rules)},
    {.name = "dim",
     .kind = OPT_LIST,
     .at = offsetof(Values, dims),
     .value = "NAME=N",
     .help = "A size."},
    {.name = "check",
     .kind = OPT_INT,
     .at = offsetof(Values, check),
     .value = "ROUNDS",
     .help = "Checks.",
     .when_bare = "3"},
    {.name = "effort",
     .kind = OPT_WORD,
     .at = offsetof(Values, effort),
     .value = "quick|default|thorough",
     .help = "Effort.",
     .default_text = "default"},
    {.kind = OPT_HEAD, .help = "Output"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(Values, quiet),
     .help = "Says less."},
    {.name = "verbose",
     .letter = 'v',
     .kind = OPT_COUNT,
     .at = offsetof(Values, verbose),
     .help = "Says more."},
    {0},
};

/* Parses the words of a line after the program's name, "prog". */
static bool parse(Case *c, const char *line) {
    char *argv[32] = {arena_format(c->arena, "prog")};
    int argc = 1;
    for (char *word = strtok(arena_string(c->arena, line, strlen(line)), " "); word;
         word = strtok(NULL, " "))
        argv[argc++] = word;
    c->values = (Values){0};
    c->error = (Error){0};
    return options_parse(c->arena, table, &c->values, argc, argv, &c->rest, &c->error);
}

static int make(void **state) {
    Arena *a = arena_new(NULL, 0);
    Case *c = ARENA_NEW(a, Case, 1);
    c->arena = a;
    *state = c;
    return 0;
}

static int drop(void **state) {
    Case *c = *state;
    arena_free(c->arena);
    return 0;
}

static void every_kind_is_stored(void **state) {
    Case *c = *state;
    assert_true(parse(c, "in --steps 12 --alpha=1.5 -r none --dim a=1 --dim=b=2 --dim c=3 --quiet "
                         "--verbose -vv out --rules ="));
    assert_int_equal(c->values.steps, 12);
    assert_true(c->values.alpha == 1.5);
    assert_string_equal(c->values.rules, "=");
    assert_int_equal(c->values.dims.n, 3);
    assert_string_equal(c->values.dims.v[0], "a=1");
    assert_string_equal(c->values.dims.v[1], "b=2");
    assert_string_equal(c->values.dims.v[2], "c=3");
    assert_true(c->values.quiet);
    assert_int_equal(c->values.verbose, 3);
    assert_int_equal(c->rest.n, 2);
    assert_string_equal(c->rest.v[0], "in");
    assert_string_equal(c->rest.v[1], "out");
}

static void earlier_names_are_accepted(void **state) {
    Case *c = *state;
    Text help = text_new(c->arena);
    assert_true(parse(c, "--lib=none"));
    assert_string_equal(c->values.rules, "none");
    assert_true(parse(c, "--lib x"));
    assert_string_equal(c->values.rules, "x");
    assert_true(parse(c, "--former-rules y"));
    assert_string_equal(c->values.rules, "y");
    assert_false(parse(c, "--li x"));
    options_help(&help, "prog", "Tests.", table);
    const ProgramText text = {.name = "prog", .usage = "prog", .summary = "Tests."};
    static const char *const form[] = {"man", "bash", "zsh"};
    for (size_t k = 0; k < sizeof form / sizeof *form; k++)
        assert_true(options_document(&help, &text, table, form[k], &c->error));
    assert_null(strstr(help.data, "former"));
    assert_null(strstr(help.data, "--lib"));
}

static void defaults_are_set_and_checked(void **state) {
    Case *c = *state;
    assert_true(parse(c, "in"));
    assert_string_equal(c->values.effort, "default");
    assert_int_equal(c->values.steps, 7);
    assert_true(parse(c, "--steps 9 --effort thorough"));
    assert_string_equal(c->values.effort, "thorough");
    for (const OptionDef *o = table; o->name || o->kind == OPT_HEAD; o++)
        assert_true(option_valid(c->arena, o, &c->values, &c->error));
    c->values.steps = 0;
    assert_false(option_valid(c->arena, &table[1], &c->values, &c->error));
    assert_string_equal(c->error.reason, "expects an integer from 1 to 1000, not \"0\"");
}

static void letters_are_joined(void **state) {
    Case *c = *state;
    assert_true(parse(c, "-vqn7 -n=8 -vn 9"));
    assert_int_equal(c->values.steps, 9);
    assert_int_equal(c->values.verbose, 2);
    assert_true(c->values.quiet);
}

static void values_may_be_left_out(void **state) {
    Case *c = *state;
    assert_true(parse(c, "--check ./5"));
    assert_int_equal(c->values.check, 3);
    assert_int_equal(c->rest.n, 1);
    assert_true(parse(c, "--check"));
    assert_int_equal(c->values.check, 3);
    assert_true(parse(c, "--check=5"));
    assert_int_equal(c->values.check, 5);
    assert_int_equal(c->rest.n, 0);
}

static void two_dashes_end_options(void **state) {
    Case *c = *state;
    assert_true(parse(c, "- -q -- -q --nonsense --"));
    assert_int_equal(c->rest.n, 4);
    assert_string_equal(c->rest.v[0], "-");
    assert_string_equal(c->rest.v[1], "-q");
    assert_string_equal(c->rest.v[2], "--nonsense");
    assert_string_equal(c->rest.v[3], "--");
}

static void long_lists_grow(void **state) {
    Case *c = *state;
    StringList rest;
    char word[] = "x";
    char *argv[1001];
    for (int i = 0; i < 1001; i++) argv[i] = word;
    assert_true(parse(c, ""));
    assert_true(options_parse(c->arena, table, &c->values, 1001, argv, &rest, NULL));
    assert_int_equal(rest.n, 1000);
    for (int i = 0; i < 1000; i++) assert_ptr_equal(rest.v[i], word);
}

static void errors_name_option_and_expectation(void **state) {
    Case *c = *state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"--stepz=3", "--stepz: unknown option; --help lists all options (usage)"},
        {"--", NULL},
        {"--step 3", "--step: unknown option; --help lists all options (usage)"},
        {"-vx", "-vx: unknown option -x; --help lists all options (usage)"},
        {"--steps", "--steps: expects a value: --steps N (usage)"},
        {"-qn", "--steps: expects a value: --steps N (usage)"},
        {"--steps 0", "--steps: expects an integer from 1 to 1000, not \"0\" (usage)"},
        {"--steps 1001", "--steps: expects an integer from 1 to 1000, not \"1001\" (usage)"},
        {"--steps 3x", "--steps: expects an integer from 1 to 1000, not \"3x\" (usage)"},
        {"--steps=", "--steps: expects an integer from 1 to 1000, not \"\" (usage)"},
        {"--steps 99999999999999999999",
         "--steps: expects an integer from 1 to 1000, not \"99999999999999999999\" (usage)"},
        {"--alpha nan", "--alpha: expects a number, not \"nan\" (usage)"},
        {"--alpha 1,5", "--alpha: expects a number, not \"1,5\" (usage)"},
        {"--quiet=yes", "--quiet: expects no value, not \"yes\" (usage)"},
        {"--effort=quick", NULL},
        {"--effort=qui", "--effort: expects quick, default or thorough, not \"qui\" (usage)"},
        {"--effort=quick|default",
         "--effort: expects quick, default or thorough, not \"quick|default\" (usage)"},
        {"--check=many", "--check: expects an integer, not \"many\" (usage)"},
        {"--check 5",
         "--check: its value is joined to it: --check=5; a file of this name is ./5 (usage)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        assert_int_equal(parse(c, cases[i].line), !cases[i].message);
        error_print(&c->error, text, sizeof text);
        if (cases[i].message) assert_string_equal(text, cases[i].message);
        assert_int_equal(error_exit_code(&c->error), cases[i].message ? 2 : 0);
    }
}

static void a_range_without_an_end_names_its_beginning(void **state) {
    Case *c = *state;
    int64_t bytes = -1;
    const OptionDef o = {.name = "bytes", .kind = OPT_INT, .value = "N", .least = 0, .most = 9e15};
    Error e = {0};
    assert_false(option_valid(c->arena, &o, &bytes, &e));
    assert_string_equal(e.reason, "expects an integer of at least 0, not \"-1\"");
}

static void help_is_made_from_the_table(void **state) {
    Case *c = *state;
    parse(c, "");
    Text t = text_new(c->arena);
    options_help(&t, "prog [options] IN OUT", "Makes OUT from IN.", table);
    assert_string_equal(t.data, "usage: prog [options] IN OUT\n"
                                "Makes OUT from IN.\n"
                                "\n"
                                "Search\n"
                                "  -n, --steps N               Steps.\n"
                                "      --alpha X               How much worse a graph may be than "
                                "the best one to be kept, as a\n"
                                "                              factor; more is slower.\n"
                                "  -r, --rules FILE|none       Rules.\n"
                                "      --dim NAME=N            A size.\n"
                                "      --check[=ROUNDS]        Checks.\n"
                                "      --effort quick|default|thorough\n"
                                "                              Effort.\n"
                                "\n"
                                "Output\n"
                                "  -q, --quiet                 Says less.\n"
                                "  -v, --verbose               Says more.\n");
    const OptionDef wide[] = {
        {.name = "a-very-long-name-of-an-option",
         .kind = OPT_FLAG,
         .at = offsetof(Values, quiet),
         .help = "Below."},
        {0},
    };
    Text u = text_new(c->arena);
    const char words[] = "A summary of two lines, which is broken where the next word would begin "
                         "beyond the hundredth column. It goes on.";
    options_help(&u, "p", words, wide);
    assert_non_null(strstr(u.data, "the hundredth column.\nIt goes on.\n\n      --a-very"));
    u.size = 0;
    options_help(&u, "p", "s", wide);
    assert_string_equal(u.data, "usage: p\ns\n\n      --a-very-long-name-of-an-option\n            "
                                "                  Below.\n");
}

static const OptionDef awkward[] = {
    {.kind = OPT_HEAD, .help = ".Heading"},
    {.name = "a-b",
     .letter = 'a',
     .kind = OPT_TEXT,
     .value = "one|FILE",
     .help = "'Quoted \\ back-slash: [x]."},
    {0},
};

static void pages_are_made_from_the_table(void **state) {
    Case *c = *state;
    const ProgramText p = {"my-prog", "my-prog IN", "Does it. Well.",
                           "Text.\n\n  my-prog .x \\\n  more\nLast."};
    Error e = {0};
    Text man = text_new(c->arena), bash = text_new(c->arena), zsh = text_new(c->arena);
    parse(c, "");
    assert_true(options_document(&man, &p, awkward, "man", &e));
    assert_non_null(strstr(man.data, "\nmy\\-prog \\- Does it\n"));
    assert_non_null(
        strstr(man.data, "\nText.\n.PP\n.PP\n.nf\nmy\\-prog .x \\e\nmore\n.fi\n.PP\nLast.\n"));
    assert_non_null(strstr(man.data, "\n.SS .Heading\n.TP\n\\fB\\-a\\fR, \\fB\\-\\-a\\-b\\fR "
                                     "\\fIone|FILE\\fR\n\\&'Quoted \\e back\\-slash: [x].\n"));
    assert_true(options_document(&bash, &p, awkward, "bash", &e));
    assert_non_null(strstr(bash.data, "-a|--a-b) COMPREPLY=($(compgen -W \"one\" -- \"$word\")); "
                                      "COMPREPLY+=($(compgen -f -- \"$word\")); return ;;"));
    assert_true(options_document(&zsh, &p, awkward, "zsh", &e));
    assert_non_null(
        strstr(zsh.data, "'--a-b=['\\''Quoted \\\\ back-slash\\: \\[x\\].]:one|FILE:(one)'"));
    assert_false(options_document(&zsh, &p, awkward, "info", &e));
    assert_int_equal(error_exit_code(&e), 2);
}

static void sizes_have_units(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t bytes; /* 0: refused */
    } of[] = {{"1", 1},         {"4096", 4096},      {"3K", 3072}, {"1.5M", 3 << 19},
              {"2G", 2u << 30}, {"0.5K", 512},       {".5K", 512}, {"", 0},
              {"0", 0},         {"0.5", 0},          {"-1", 0},    {"K", 0},
              {"1KB", 0},       {"1 K", 0},          {" 1K", 0},   {"1k", 0},
              {"0x10K", 0},     {"nan", 0},          {"inf", 0},   {"infK", 0},
              {"1e3", 1000},    {"99999999999G", 0}, {"1.2.3", 0}, {"1,5G", 0}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        Error e = {0};
        size_t bytes = 7;
        const bool good = option_bytes("--memory-limit", of[k].text, &bytes, &e);
        if (good != (of[k].bytes > 0) || bytes != of[k].bytes)
            fail_msg("\"%s\": %zu, not %zu", of[k].text, bytes, of[k].bytes);
        assert_int_equal(e.kind, good ? E_NONE : E_USAGE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_is_stored, make, drop),
        cmocka_unit_test_setup_teardown(earlier_names_are_accepted, make, drop),
        cmocka_unit_test_setup_teardown(defaults_are_set_and_checked, make, drop),
        cmocka_unit_test_setup_teardown(letters_are_joined, make, drop),
        cmocka_unit_test_setup_teardown(values_may_be_left_out, make, drop),
        cmocka_unit_test_setup_teardown(two_dashes_end_options, make, drop),
        cmocka_unit_test_setup_teardown(long_lists_grow, make, drop),
        cmocka_unit_test_setup_teardown(errors_name_option_and_expectation, make, drop),
        cmocka_unit_test_setup_teardown(a_range_without_an_end_names_its_beginning, make, drop),
        cmocka_unit_test_setup_teardown(help_is_made_from_the_table, make, drop),
        cmocka_unit_test_setup_teardown(pages_are_made_from_the_table, make, drop),
        cmocka_unit_test(sizes_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
