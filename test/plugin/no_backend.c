/* no_backend.c -- a shared object that is not a back end. */
int something_else(void);
__attribute__((visibility("default"))) int something_else(void) { return 1; }
