/* assembly.h -- a new file while it is planned (assemble.c): which old nodes stand, which names
   carry which values, what is still to be written. Everything lives in its arena; names that are
   new are the model's. */
#ifndef ISOMER_ONNX_ASSEMBLY_H
#define ISOMER_ONNX_ASSEMBLY_H
#include "graphs/onnx/export/export.h"
#include "graphs/onnx/order.h"

typedef struct Table32 { /* a growing array over Values or NameIds, 0 where nothing was set */
    uint32_t *v, room;
} Table32;
typedef struct Job { /* something that the new file needs and that is not written yet */
    int onnx;        /* the node of the old file to be copied; -1: the node that makes `value` */
    Value value;
    int place; /* of a node in the old file, near which it is to stand */
} Job;
typedef struct Assembly {
    Model *m;
    World *w;
    Arena *a;
    const ModelWrite *write; /* what is to be written */
    Error *e;
    Value *now;       /* by NameId of the old file: the value that takes the place of its value */
    const bool *live; /* by value below nlive: it is live in the new graph */
    uint32_t nlive;
    bool *copy;            /* by old node: it stands as it is */
    bool *alias;           /* likewise, but it only passes an input on */
    bool *queued, *copied; /* by old node: it is among the jobs, or was; it was copied once */
    bool *banned;          /* by old node: it may not be copied */
    /* By old node: not to be copied, since the copy would only for its sizes keep nodes alive that
       rules replaced, or would read an input that another node has to broadcast first. */
    bool *costly;
    Table32 name;  /* by Value: the name that carries it */
    Table32 old;   /* by Value: a name of the old file that is free for it */
    Table32 place; /* by Value: place of that name */
    Table32
        maker; /* by Value: 1 + the old node that makes it from the values its inputs have now */
    Table32 old_maker;  /* by Value without a maker: 1 + the old node that made it from the values
                           its inputs had in the old file */
    Value **in, **out;  /* by old node: values of its inputs now, and what it makes of them */
    Table32 owner;      /* by Value: the composite in whose place it is written */
    Table32 keep, made; /* by NameId: the initializer stays; a new file's node gives this name */
    int njob, job_room, nnode, node_room, serial;
    Job *job;
    FileNode *node;
    FilePlan *plan; /* the result */
    int constant_room, import_room;
} Assembly;

uint32_t table_get(const Table32 *, uint32_t key); /* 0 where nothing was set */
void table_set(Arena *, Table32 *, uint32_t key, uint32_t value);

/* assembly_decide.c: which old nodes can be copied, and what carries and makes each value. */
void assembly_decide(Assembly *);

/* assembly_names.c. `place` is that of a node in the old file, near which to stand. */
bool assembly_live(const bool *live, uint32_t n, Value); /* live[] has n entries */
Value assembly_was(const Assembly *, NameId);            /* in the old file; 0: no name or value */
NameId assembly_fresh_name(Assembly *);                  /* that nothing uses */
/* A name for a value that has none: that of the old file, if nothing else took it. */
NameId assembly_new_name(Assembly *, Value, int *place);
/* The name of a value, which is written if it is not yet; 0 for value 0. */
NameId assembly_name(Assembly *, Value, int place);
/* The name under which a node of the old file now finds what it used by this name. */
NameId assembly_name_for_copy(Assembly *, NameId, int place);
void assembly_identity(Assembly *, NameId from, NameId to, int place);
/* A name that must exist as it is: of an output, or used in a subgraph. */
void assembly_need_exact(Assembly *, NameId, Value, int place);
void assembly_job(Assembly *, Job);
void assembly_node(Assembly *, FileNode);

/* assembly_write.c: writes everything that is needed. False, with the error set: an operator cannot
   be written for the model's operator set. */
bool assembly_write(Assembly *);
#endif
