/* The inputs of a walk; `_Walk` of `walks/sparse.py` has the same fields. */
#ifndef WALKCONV_WALK_H
#define WALKCONV_WALK_H

#include "rank.h"

/* Nodes for each slot that are listed of the visits that rows share. */
enum { LISTED = 5 };
/* Candidates may lie below the last slot by this relative amount: ten times a tie, so that
 * ties that chain are usually among them. */
#define SLACK 1e-8

/* Slots of a table, of which half are filled at most. */
enum { TABLE_BITS = 10, TABLE_SLOTS = 1 << TABLE_BITS, MOST_IN_TABLE = TABLE_SLOTS / 2 };
/* A walk that comes to a node with more edges does not use tables.  Busy nodes have more, so
 * tables and tallies add amounts in the same order. */
enum { MOST_EDGES = 48 };

/* Index arrays are all int32 or all int64. */
struct walk {
    int64_t n_nodes, n_steps, n_slots;
    int64_t tries_tables;  /* 1: walk in tables first, in case a row meets few nodes */
    const void *indptr;    /* (n_nodes + 1,) */
    const void *indices;   /* (n_edges,) */
    const double *chance;  /* (n_edges,), or NULL if all steps from a node are equally likely */
    const uint8_t *is_hub; /* (n_nodes,), as the next */
    const int64_t *group;  /* the same number for rows that share what follows from hubs */
    const uint8_t *is_busy;
    const double *most_likely; /* the largest probability of a step from each busy node */
    const void *busy_indptr;   /* the steps from busy nodes, column by column */
    const void *busy_indices;
    const double *busy_chance;
    struct rule rule;
    double *amounts[4]; /* four tallies, empty before and after: (n_nodes,) zeros, */
    void *listed[4];    /* and (n_nodes + 1,) nodes; the last may be empty if no row shares */
};

#endif
