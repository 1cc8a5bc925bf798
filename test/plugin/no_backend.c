/* no_backend.c -- a shared object that exports no back end; opening it as a plug-in must fail. */
int something_else(void);
__attribute__((visibility("default"))) int something_else(void) { return 1; }
