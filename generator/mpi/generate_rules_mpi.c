/* generate_rules_mpi.c -- generate-rules as the processes of an MPI job: `mpirun -n N
   generate-rules-mpi`, with the options of generate-rules.

   Each process does its share of the tasks. Records travel in messages or, with --resume, through
   that folder, which all processes must then see. A failure in any process ends all of them. */
#include "generator/generate.h"
#include <mpi.h>

enum { PIECE = 1 << 26 }; /* most bytes of one message, whose length is an int in MPI */

static bool send(void *user, int to, const void *bytes, size_t n) {
    (void)user;
    for (const char *p = bytes; n;) {
        int piece = n < PIECE ? (int)n : PIECE;
        if (MPI_Send(p, piece, MPI_BYTE, to, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return false;
        p += piece;
        n -= (size_t)piece;
    }
    return true;
}

static bool receive(void *user, int from, void *bytes, size_t n) {
    (void)user;
    for (char *p = bytes; n;) {
        int piece = n < PIECE ? (int)n : PIECE;
        if (MPI_Recv(p, piece, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        p += piece;
        n -= (size_t)piece;
    }
    return true;
}

int main(int argc, char **argv) {
    int level;
    GenerateLink link = {.send = send, .receive = receive};
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return 5;
    MPI_Comm_rank(MPI_COMM_WORLD, &link.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &link.n);
    int code = generate_program(argc, argv, &link);
    if (code) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Finalize();
    return code;
}
