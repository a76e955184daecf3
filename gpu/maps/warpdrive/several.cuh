/*
 * The WarpDrive map over several devices: each member of a kc_links has a map (map.cuh) of the keys
 * that it owns.
 *
 *      member 0   keys ──▶ split by owner ──┐  ┌──▶ all keys of owner 0 ──▶ map 0
 *      member 1   keys ──▶ split by owner ──┼──┼──▶ all keys of owner 1 ──▶ map 1
 *      member 2   keys ──▶ split by owner ──┘  └──▶ all keys of owner 2 ──▶ map 2
 *                                     transposition
 *
 * The partition table T[member, owner] counts the keys that each member sends to each owner. A sum
 * over a column says where a sender's keys go in the owner's memory, a sum over a row where they
 * are in the sender's. If a member reaches an owner's memory, the split writes there, and no
 * transposition is left to do; otherwise it writes to a buffer that is then copied. Answers return
 * the same way, so they come in the order of the keys. A batch is processed in slices that fit in
 * memory.
 *
 * An operation takes a share of the batch from each member's memory; shares may differ in size and
 * may be empty. It is complete when the function returns, so batches never overlap. Only one host
 * thread at a time may use a map and its kc_links; an operation starts a thread for each member and
 * leaves the first member's device current.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_SEVERAL_CUH
#define KC_GPU_MAPS_WARPDRIVE_SEVERAL_CUH

#include "gpu/links/links.cuh"
#include "gpu/maps/warpdrive/map.cuh"

/*
 * How keys get to their owners: split by owner and part, and copied stretch by stretch while the
 * owners work in bulk (several_parts.cu); written to them by a split by owner; or copied after such
 * a split, as in the paper. What does not go in bulk is written instead of copied by parts. If a
 * member does not reach an owner, its keys are copied in any case.
 */
enum kc_wd_transposition { KC_WD_BY_PARTS, KC_WD_WRITTEN, KC_WD_COPIED };

/*
 * Whether a put combines equal keys of a tile (4096 keys of 128 bits, 8192 of fewer) before they
 * are sent: added weights become one sum, and of inserted values one is sent. IF_IT_PAYS takes a
 * sample of the keys first, and combines if that saves at least a quarter of the bytes to be sent.
 */
enum kc_wd_combining { KC_WD_COMBINE_IF_IT_PAYS, KC_WD_COMBINE_ALWAYS, KC_WD_COMBINE_NEVER };

/* What an operation spends its time on: filling the partition table and allocating memory;
 * splitting; copying keys; the operation on each map; copying answers; putting them in order. By
 * parts, the table is part of splitting, and copies are part of the operation. For keys on the
 * host (cascade.cuh), there are also copies to the devices and to the host, which overlap with
 * the rest. */
enum kc_wd_stage {
        KC_WD_TABLE,
        KC_WD_SPLIT,
        KC_WD_COPY,
        KC_WD_LOCAL,
        KC_WD_COPY_BACK,
        KC_WD_FETCH,
        KC_WD_UPLOAD,
        KC_WD_DOWNLOAD,
        KC_WD_NSTAGES
};

/* Callers may read the fields, set combining, most_nkeys and seconds, and use the maps where these
 * only read. */
template <class Layout> struct kc_wd_several {
        struct kc_links *links;
        enum kc_wd_transposition transposition;
        kc_wd_map<Layout> *maps[KC_GPU_MAX_DEVICES];
        enum kc_wd_combining combining;
        uint64_t nsent;      /* keys that puts have handed to owners so far, each member's own
                                included: fewer than were put if equal keys were combined */
        uint64_t most_nkeys; /* of a slice, for each member; 0: no bound but memory */
        double seconds[KC_WD_NSTAGES]; /* spent so far */
};

/* A member's share of a batch, in its memory. */
template <class Key> struct kc_wd_share {
        const Key *keys;        /* [n] */
        const uint32_t *values; /* [n] values or weights; NULL: 1 each; not used by lookups */
        uint64_t n;
};

/* The slots that each of nowners maps needs for `capacity` slots in all: an equal share, and some
 * more because the number of keys that an owner gets is random. */
uint64_t kc_wd_several_capacity(uint64_t capacity, int nowners);

/*
 * Make an empty map.
 *   several        out: to be freed with kc_wd_several_free; NULL on failure
 *   links          must outlive the map
 *   options        copied; capacity: of all maps together; part_bits: of each, see
 *                  kc_wd_several_capacity
 * Fails like kc_wd_new.
 */
template <class Layout>
enum kc_status kc_wd_several_new(kc_wd_several<Layout> **several, struct kc_links *links,
                                 enum kc_wd_transposition transposition,
                                 const struct kc_wd_options *options, struct kc_error *err);

/* NULL is fine. */
template <class Layout> void kc_wd_several_free(kc_wd_several<Layout> *several);

/* The number of keys in all maps together. */
template <class Layout> uint64_t kc_wd_several_nkeys(const kc_wd_several<Layout> *several);

/*
 * Put the keys of all shares, as kc_wd_put does.
 *   shares   [members]
 *   refused  out, [members][ceil(n / 32)], each in its member's memory: a bit for each key that was
 *            not put, meaningful only with KC_ENOMEM; may be NULL
 * An owner whose keys find no room rebuilds its own map. KC_ENOMEM if that does not help, or if
 * there is no memory for slices: the refused keys are not in the map, all others are, and no key
 * that was present is lost. KC_EDEVICE: the map can only be freed. KC_EUSAGE if the layout only
 * keeps counts and mode is KC_WD_INSERT.
 */
template <class Layout>
enum kc_status kc_wd_several_put(kc_wd_several<Layout> *several,
                                 const kc_wd_share<typename Layout::key> *shares,
                                 enum kc_wd_mode mode, uint32_t *const *refused,
                                 struct kc_error *err);

/*
 * Look the keys of all shares up.
 *   values   out, [members][n], each in its member's memory; `missing` if the key is absent
 *   nfound   out; may be NULL
 * KC_ENOMEM if there is no memory for slices.
 */
template <class Layout>
enum kc_status kc_wd_several_retrieve(kc_wd_several<Layout> *several,
                                      const kc_wd_share<typename Layout::key> *shares,
                                      uint32_t *const *values, uint32_t missing, uint64_t *nfound,
                                      struct kc_error *err);

/* Erase the keys of all shares; absent ones are ignored. KC_ENOMEM if there is no memory for
 * slices: then some of the keys may still be there. */
template <class Layout>
enum kc_status kc_wd_several_erase(kc_wd_several<Layout> *several,
                                   const kc_wd_share<typename Layout::key> *shares,
                                   struct kc_error *err);

#endif
