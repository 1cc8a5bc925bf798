/* assembly.h -- the state of planning a new file (assemble.c): which nodes of the old file are
   copied, which names stand for which values, and what is still to be written. Everything lives in
   one arena, except that new names are added to the model. */
#ifndef ISOMER_ONNX_ASSEMBLY_H
#define ISOMER_ONNX_ASSEMBLY_H
#include "graphs/onnx/export/export.h"
#include "graphs/onnx/order.h"

/* A growing array indexed by Value or NameId; entries that were not set are 0. */
typedef struct Table32 {
    uint32_t *v, room;
} Table32;
typedef struct AssemblyJob { /* a node that the new file needs and that is not written yet */
    /* A node of the old file to copy, or -1: write the node that computes `value`. */
    int onnx;
    Value value;
    int place; /* write it near the node at this position of the old file */
} AssemblyJob;
typedef struct Assembly {
    Model *m;
    World *w;
    Arena *a;
    const ModelWrite *write; /* the graph to be written, and how */
    Error *e;
    /* By NameId of the old file: the value that replaces the value of this name. */
    Value *new_value;
    const bool *live; /* by Value below nlive: whether it is live in the new graph */
    uint32_t nlive;
    bool *can_copy;      /* by old node: it can be copied as it is */
    bool *alias;         /* the same, but it only passes an input on */
    bool *queued;        /* by old node: it is or was among the jobs */
    bool *copied_before; /* by old node */
    bool *banned;        /* by old node: it must not be copied */
    /* By old node: it could be copied, but should not be. Either the copy would keep nodes alive
       that rules have replaced, only because it reads their sizes, or it would read an input that
       another node has to broadcast first. */
    bool *costly;
    Table32 name;          /* by Value: the name under which the new file has it */
    Table32 free_old_name; /* by Value: an unused name of the old file that it may get */
    Table32 place;         /* by Value: position of the old node that had this name */
    /* By Value: 1 + the old node that computes it from the new values of its inputs. */
    Table32 maker;
    /* By Value without a maker: 1 + the old node that computes it from the old values of its
       inputs. */
    Table32 old_maker;
    /* By old node: the new values of its inputs, and what the node computes from them. */
    Value **in, **out;
    Table32 owner; /* by Value: the composite whose expansion it belongs to */
    /* By NameId: the initializer stays; a node of the new file defines this name. */
    Table32 keep, made;
    Intern *node_name; /* the names of old and new nodes, which ONNX Runtime wants to be unique */
    int njob, job_room, nnode, node_room, serial;
    AssemblyJob *job;
    FileNode *node;
    FilePlan *plan; /* the result */
    int constant_room, import_room;
} Assembly;

uint32_t table_get(const Table32 *, uint32_t key); /* 0 if the entry was not set */
void table_set(Arena *, Table32 *, uint32_t key, uint32_t value);

/* assembly_decide.c: decides which old nodes can be copied, and which name and which old node
   belong to each value. */
void assembly_decide(Assembly *);

/* assembly_names.c. `place` is the position of the node of the old file near which a new node
   should stand. */
bool assembly_live(const bool *live, uint32_t n, Value); /* live[] has n entries */
Value assembly_old_value(const Assembly *, NameId);      /* its value in the old file; 0: none */
NameId assembly_fresh_name(Assembly *);                  /* a name that nothing uses yet */
/* Gives a value that has no name one: its name in the old file unless something else took that,
   else a fresh one. */
NameId assembly_new_name(Assembly *, Value, int *place);
/* Returns the name of a value and makes sure that the value is or will be written; 0 for value
   0. */
NameId assembly_name(Assembly *, Value, int place);
/* Returns the name under which a copied node finds the value that it knows by this name. */
NameId assembly_name_for_copy(Assembly *, NameId, int place);
/* Writes an Identity node. */
void assembly_identity(Assembly *, NameId from, NameId to, int place);
/* Makes sure that a value exists under exactly this name: that of an output, or one that a subgraph
   uses. */
void assembly_need_exact(Assembly *, NameId, Value, int place);
void assembly_job(Assembly *, AssemblyJob);
void assembly_node(Assembly *, FileNode);

/* assembly_write.c: writes all jobs and what they need in turn. Returns false with the error set if
   an operator cannot be written in the model's operator set. */
bool assembly_write(Assembly *);
#endif
