/*
 * For the tests of text on the device: what the host's reader makes of a text, what the device
 * makes of it, their comparison, and made-up files.
 */
#ifndef KC_TESTS_GPU_TEXT_TEXT_SUPPORT_CUH
#define KC_TESTS_GPU_TEXT_TEXT_SUPPORT_CUH

#include "tests/gpu/open_gpu.cuh"
#include "tests/gpu/text/bam_support.cuh"

#include "gpu/kept/pack.cuh"
#include "gpu/text/text.cuh"

extern "C" {
#include "io/reader.h"
}

#include <algorithm>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include <zlib.h>

enum { GUARD = 0xb7, GUARD_NBYTES = 256 };

struct rules {
        int k, max_k, min_quality;
        enum kc_gpu_text_format format;
        uint32_t nrefs = 0; /* BAM: in the header */
};

struct totals {
        uint64_t nreads, nbases, nskipped, nlow_quality;
};

static void add_totals(struct totals *t, const struct kc_gpu_text_result *r)
{
        t->nreads += r->nreads;
        t->nbases += r->nbases;
        t->nskipped += r->nskipped;
        t->nlow_quality += r->nlow_quality;
}

static void check_totals(const struct totals *a, const struct totals *b)
{
        assert_int_equal(a->nreads, b->nreads);
        assert_int_equal(a->nbases, b->nbases);
        assert_int_equal(a->nskipped, b->nskipped);
        assert_int_equal(a->nlow_quality, b->nlow_quality);
}

static std::string bases_of(const uint64_t *words, uint64_t from, size_t n)
{
        std::string bases(n, '?');
        for (size_t i = 0; i < n; i++, from++)
                bases[i] = "ACGT"[words[from / 32] >> from % 32 * 2 & 3];
        return bases;
}

/* ---- the host's reader ---- */

/* The text in BGZF blocks, which are not compressed, and the empty one that marks the end. */
static std::string bgzf_of(const std::string &text)
{
        enum { MOST = 60000, OTHER_NBYTES = 31 };
        std::string all;
        for (size_t at = 0;; at += MOST) {
                const std::string own = at < text.size() ? text.substr(at, MOST) : "";
                const uint32_t crc =
                        (uint32_t)crc32(0, (const Bytef *)own.data(), (uInt)own.size());
                all += std::string("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0", 16);
                all += number(own.size() + OTHER_NBYTES - 1, 2) + "\1" + number(own.size(), 2) +
                       number(~own.size(), 2) + own + number(crc) + number(own.size());
                if (own.empty())
                        return all;
        }
}

/* The file that has this text: BAM also has a header, which the device is not shown. */
static std::string file_of(const std::string &text, const struct rules *rules)
{
        std::string header = "BAM\1" + number(8) + std::string("@CO\ttst\n", 8);
        if (rules->format != KC_GPU_TEXT_BAM)
                return text;
        header += number(rules->nrefs);
        for (uint32_t i = 0; i < rules->nrefs; i++)
                header += number(2) + std::string("r", 2) + number(1000000);
        return bgzf_of(header + text);
}

struct host_reads {
        std::vector<std::string> segments;
        struct totals totals;
        std::vector<uint8_t> marks; /* of the inputs */
        struct kc_error error;
};

static std::vector<uint8_t> marks_of(const struct kc_reader *reader)
{
        const char *const *names;
        std::vector<uint8_t> marks(kc_reader_names(reader, &names));
        kc_reader_marks(reader, marks.data());
        return marks;
}

static void take_batches(struct kc_reader *reader, struct host_reads *reads)
{
        const struct kc_batch_source source = kc_reader_source(reader);
        static std::vector<uint64_t> words((1 << 17) + KC_BATCH_PADDING); /* made only once */
        static std::vector<struct kc_segment> segments(1 << 17);
        struct kc_batch batch = {};
        batch.words = words.data();
        batch.segments = segments.data();
        batch.words_cap = batch.segments_cap = 1 << 17;
        while (source.next(source.ctx, 0, &batch, &reads->error) == KC_OK && batch.nsegments > 0)
                for (uint32_t i = 0; i < batch.nsegments; i++)
                        reads->segments.push_back(
                                bases_of(batch.words + segments[i].word, 0, segments[i].nbases));
}

/* Files in memory, with names that the reader can open. */
struct files_in_memory {
        std::vector<int> files;
        std::vector<std::string> names;
        std::vector<const char *> paths;
};

static void open_files(struct files_in_memory *f, const std::vector<std::string> &contents)
{
        for (const std::string &content : contents) {
                f->files.push_back(memfd_create("text", 0));
                assert_int_equal(write(f->files.back(), content.data(), content.size()),
                                 content.size());
                f->names.push_back("/proc/self/fd/" + std::to_string(f->files.back()));
        }
        for (const std::string &name : f->names)
                f->paths.push_back(name.c_str());
}

static void close_files(const struct files_in_memory *f)
{
        for (int file : f->files)
                close(file);
}

static struct kc_reader_options reader_options(const struct rules *rules, size_t chunk_nbytes)
{
        struct kc_reader_options options = {};
        options.k = rules->k;
        options.max_k = rules->max_k;
        options.min_quality = rules->min_quality;
        options.nworkers = 1;
        options.chunk_nbytes = chunk_nbytes;
        return options;
}

/* The error may also be that of opening. */
static struct host_reads read_paths_on_host(const std::vector<const char *> &paths,
                                            const struct rules *rules, size_t chunk_nbytes)
{
        struct host_reads reads = {};
        struct kc_reader *reader;
        const struct kc_reader_options options = reader_options(rules, chunk_nbytes);
        if (kc_reader_open(&reader, paths.data(), paths.size(), &options, &reads.error) != KC_OK)
                return reads;
        take_batches(reader, &reads);
        struct kc_reader_totals totals;
        kc_reader_totals(reader, &totals);
        reads.totals = { totals.nreads, totals.nbases, totals.nskipped, totals.nlow_quality };
        reads.marks = marks_of(reader);
        kc_reader_close(reader);
        return reads;
}

static struct host_reads read_on_host(const std::string &text, const struct rules *rules)
{
        struct files_in_memory files;
        const std::string bytes = file_of(text, rules);
        open_files(&files, { bytes });
        const struct host_reads reads = read_paths_on_host(files.paths, rules, bytes.size() + 4096);
        close_files(&files);
        return reads;
}

/* ---- the device ---- */

/* Device memory with guards around it. */
struct guarded {
        unsigned char *memory;
        size_t nbytes;
};

static void guarded_fill(const struct guarded *g)
{
        struct kc_error error = {}, *err = &error;
        expect_ok(KC_CUDA(cudaMemsetAsync(g->memory, GUARD, g->nbytes + 2 * GUARD_NBYTES,
                                          gpu.stream)),
                  err);
}

static void *guarded_new(struct guarded *g, size_t nbytes)
{
        struct kc_error err = {};
        g->nbytes = nbytes;
        expect_ok(kc_gpu_new(&gpu, &g->memory, nbytes + 2 * GUARD_NBYTES, &err), &err);
        guarded_fill(g);
        return g->memory + GUARD_NBYTES;
}

/* Returns whether the guards are untouched, and so is everything from `used` on. */
static bool is_whole(const struct guarded *g, size_t used)
{
        struct kc_error err = {};
        std::vector<unsigned char> bytes(g->nbytes + 2 * GUARD_NBYTES);
        expect_ok(kc_gpu_read(&gpu, bytes.data(), g->memory, bytes.size(), &err), &err);
        for (size_t i = 0; i < bytes.size(); i++)
                if (bytes[i] != GUARD && (i < GUARD_NBYTES || i >= GUARD_NBYTES + used))
                        return false;
        return true;
}

static void guarded_free(struct guarded *g)
{
        kc_gpu_delete(&gpu, g->memory, g->nbytes + 2 * GUARD_NBYTES);
}

struct device {
        struct rules rules;
        struct kc_gpu_text *text;
        struct kc_gpu_text_out out;
        struct guarded words, spans, bytes;
};

static void device_new(struct device *d, const struct rules *rules, size_t max_nbytes)
{
        struct kc_error err = {};
        struct kc_gpu_text_setup setup = {};
        setup.max_nbytes = max_nbytes;
        setup.min_k = rules->k;
        setup.max_k = rules->max_k;
        setup.min_quality = rules->min_quality;
        setup.fasta = rules->format == KC_GPU_TEXT_FASTA;
        setup.bam = rules->format == KC_GPU_TEXT_BAM;
        *d = {};
        d->rules = *rules;
        const size_t used = gpu.used_nbytes;
        expect_ok(kc_gpu_text_new(&d->text, &gpu, &setup, &err), &err);
        assert_true(gpu.used_nbytes - used < kc_gpu_text_nbytes(&setup) + (64 << 10));
        d->out.words_cap = kc_gpu_text_most_words(max_nbytes);
        d->out.spans_cap = kc_gpu_text_most_spans(&setup);
        d->out.max_nbases = KC_CHUNK_NBASES;
        d->out.words = (uint64_t *)guarded_new(&d->words, d->out.words_cap * sizeof(uint64_t));
        d->out.spans = (struct kc_span *)guarded_new(&d->spans, d->out.spans_cap * sizeof(kc_span));
        (void)guarded_new(&d->bytes, max_nbytes + 64);
}

static void device_free(struct device *d)
{
        kc_gpu_text_free(d->text);
        guarded_free(&d->words);
        guarded_free(&d->spans);
        guarded_free(&d->bytes);
}

static void empty_out(struct kc_gpu_text_out *out)
{
        out->nwords = out->nspans = 0;
        out->nbases = out->nkmers = 0;
}

/* The segments that the spans are cuts of; checks that they are cut evenly. */
static void read_segments(struct kc_gpu *on, const struct kc_gpu_text_out *out, int k,
                          std::vector<std::string> *segments)
{
        struct kc_error err = {};
        std::vector<uint64_t> words(out->nwords);
        std::vector<struct kc_span> spans(out->nspans);
        uint64_t nbases = 0, nkmers = 0;
        if (out->nspans == 0)
                return;
        expect_ok(kc_gpu_read(on, words.data(), out->words, out->nwords, &err), &err);
        expect_ok(kc_gpu_read(on, spans.data(), out->spans, out->nspans, &err), &err);
        for (size_t i = 0, first = 0; i < spans.size(); i++) {
                const struct kc_span *s = &spans[i];
                const uint64_t begin = spans[first].word * UINT64_C(32) + spans[first].base;
                const uint64_t at = s->word * UINT64_C(32) + s->base;
                assert_in_range(s->nkmers, 1, KC_SPAN_NKMERS);
                assert_in_range(spans[first].nkmers - s->nkmers, 0, 1);
                if (i > first)
                        assert_int_equal(at, spans[i - 1].word * UINT64_C(32) + spans[i - 1].base +
                                                     spans[i - 1].nkmers);
                nkmers += s->nkmers;
                nbases += kc_span_own_nbases(s->nkmers, s->ends != 0, k);
                if (!s->ends)
                        continue;
                const uint64_t end = at + s->nkmers + (uint64_t)k - 1;
                assert_true(end <= out->nwords * 32);
                segments->push_back(bases_of(words.data(), begin, end - begin));
                first = i + 1;
        }
        assert_int_equal(out->nbases, nbases);
        assert_int_equal(out->nkmers, nkmers);
}

/* Parse one text, at an offset in an aligned block. Its reads replace those in d->out. */
static struct kc_gpu_text_result parse(struct device *d, const std::string &text, bool last,
                                       uint32_t noverlap, size_t offset)
{
        struct kc_error error = {}, *err = &error;
        struct kc_gpu_text_result result;
        struct kc_gpu_text_input input = {};
        unsigned char *bytes = d->bytes.memory + GUARD_NBYTES + offset;
        if (!text.empty())
                expect_ok(KC_CUDA(cudaMemcpyAsync(bytes, text.data(), text.size(),
                                                  cudaMemcpyHostToDevice, gpu.stream)),
                          err);
        input.format = d->rules.format;
        input.bytes = bytes;
        input.nbytes = text.size();
        input.last = last;
        input.noverlap = noverlap;
        input.nrefs = d->rules.nrefs;
        empty_out(&d->out);
        expect_ok(kc_gpu_text_parse(d->text, &input, &d->out, &result, err), err);
        assert_true(result.consumed <= text.size());
        return result;
}

struct device_reads {
        std::vector<std::string> segments;
        struct totals totals;
        size_t consumed;
        bool foreign;
        uint32_t noverlap;
};

/* Show the device a file piece by piece, as a caller does: what it has not consumed comes before
 * the next piece. pieces: their sizes; the rest is one piece. */
static struct device_reads read_on_device(struct device *d, const std::string &text,
                                          const std::vector<size_t> &pieces)
{
        struct device_reads reads = {};
        size_t end = 0, number = 0;
        for (bool last = false; !last && !reads.foreign;) {
                end = number < pieces.size() ? std::min(end + pieces[number], text.size())
                                             : text.size();
                last = number++ >= pieces.size();
                for (bool more = true; more && !reads.foreign;) {
                        const size_t begin = reads.consumed;
                        const struct kc_gpu_text_result result =
                                parse(d, text.substr(begin, end - begin), last, reads.noverlap,
                                      begin % 16);
                        assert_false(result.full);
                        read_segments(&gpu, &d->out, d->rules.k, &reads.segments);
                        add_totals(&reads.totals, &result);
                        reads.consumed += result.consumed;
                        reads.foreign = result.foreign;
                        reads.noverlap = result.noverlap;
                        more = result.consumed > 0 && last && reads.consumed < end;
                }
        }
        return reads;
}

/* All k-mers, in order. */
static inline std::vector<std::string> kmers_of(const std::vector<std::string> &segments, int k)
{
        std::vector<std::string> kmers;
        for (const std::string &segment : segments)
                for (size_t i = 0; i + (size_t)k <= segment.size(); i++)
                        kmers.push_back(segment.substr(i, (size_t)k));
        return kmers;
}

static void check_segments(const std::vector<std::string> &got,
                           const std::vector<std::string> &want)
{
        for (size_t i = 0; i < std::min(got.size(), want.size()); i++)
                if (got[i] != want[i])
                        fail_msg("segment %zu: %s, not %s", i, got[i].c_str(), want[i].c_str());
        assert_int_equal(got.size(), want.size());
}

/* Check that the segments are the same, or in FASTA, where pieces may divide them, the k-mers. */
static void check_reads(const struct device *d, const struct device_reads &got,
                        const struct host_reads &want)
{
        expect_ok(want.error.status, &want.error);
        if (d->rules.format != KC_GPU_TEXT_FASTA) /* there, pieces may divide them */
                check_segments(got.segments, want.segments);
        else
                check_segments(kmers_of(got.segments, d->rules.k),
                               kmers_of(want.segments, d->rules.k));
        check_totals(&got.totals, &want.totals);
}

/* Check the whole of a strict file, in these pieces. */
static void check_file(struct device *d, const std::string &text, const std::vector<size_t> &pieces)
{
        const struct device_reads got = read_on_device(d, text, pieces);
        assert_false(got.foreign);
        assert_int_equal(got.consumed, text.size());
        check_reads(d, got, read_on_host(text, &d->rules));
}

/* Check a file that is strict up to this byte. */
static inline void check_strict_part(struct device *d, const std::string &text, size_t end)
{
        const struct device_reads got = read_on_device(d, text, {});
        assert_true(got.foreign);
        assert_int_equal(got.consumed, end);
        if (end > 0)
                check_reads(d, got, read_on_host(text.substr(0, end), &d->rules));
        else
                assert_int_equal(got.segments.size(), 0);
}

/* ---- made-up files ---- */

static std::string any_letters(uint64_t *state, size_t n, const char *letters)
{
        std::string made(n, '?');
        const size_t nletters = strlen(letters);
        for (char &letter : made)
                letter = letters[next_random(state) % nletters];
        return made;
}

static inline std::string any_bases(uint64_t *state, size_t n)
{
        std::string bases = any_letters(state, n, "ACGT");
        const uint64_t kind = next_random(state) % 8;
        for (size_t at = 0; kind < 4 && at < n; at += 1 + next_random(state) % 200)
                bases[at] = "NnRYacgtuU-*.XZ@+~ \t"[next_random(state) % 20];
        if (kind == 4 && n > 0)
                bases.replace(next_random(state) % n, 1 + next_random(state) % n, n / 3 + 1, 'N');
        bases.resize(n, 'A');
        if (n > 0 && strchr("@+", bases[0]) != NULL)
                bases[0] = 'A';
        if (n > 0 && strchr(" \t", bases[n - 1]) != NULL)
                bases[n - 1] = 'A';
        return bases;
}

static inline std::string any_record(uint64_t *state, size_t n, const char *eol)
{
        const std::string bases = any_bases(state, n);
        std::string qualities = any_letters(state, n, "#,:5?DFIH@+>ACGT");
        return "@r" + any_letters(state, next_random(state) % 20, "abc /1:@+>ACGTN") + eol + bases +
               eol + "+" + any_letters(state, next_random(state) % 3, "xyz") + eol + qualities +
               eol;
}

static inline std::string any_file(uint64_t *state, size_t nrecords, size_t longest,
                                   const char *eol)
{
        std::string text;
        for (size_t i = 0; i < nrecords; i++)
                text += any_record(state, next_random(state) % (longest + 1), eol);
        return text + any_record(state, 40, eol); /* still valid without its last line feed */
}

static inline std::string in_lines(const std::string &bases, size_t length, const char *eol)
{
        std::string lines;
        for (size_t at = 0; at < bases.size(); at += length)
                lines += bases.substr(at, length) + eol;
        return lines;
}

static inline std::string any_sequence(uint64_t *state, size_t n, size_t line, const char *eol)
{
        std::string bases = any_bases(state, n);
        for (size_t at = 0; at < n; at += line) /* a FASTA line cannot begin with these */
                if (strchr("@+; \t", bases[at]) != NULL)
                        bases[at] = 'N';
        return ">" + any_letters(state, next_random(state) % 20, "abc /1:@+>;ACGTN") + eol +
               in_lines(bases, line, eol);
}

static inline std::string any_fasta(uint64_t *state, size_t nrecords, size_t longest,
                                    const char *eol)
{
        std::string text = next_random(state) % 2 ? ";a comment" + std::string(eol) : "";
        for (size_t i = 0; i < nrecords; i++) {
                const size_t n = next_random(state) % (longest + 1);
                const size_t line =
                        next_random(state) % 4 == 0 ? n + 1 : 1 + next_random(state) % 100;
                text += any_sequence(state, n, line, eol);
                if (next_random(state) % 4 == 0)
                        text += eol + std::string(";>in between") + eol + eol + "ACGTACGTGG" + eol;
        }
        return text + "ACGT" + eol; /* still valid without its last line feed */
}

[[maybe_unused]] static const struct rules PLAIN = { 31, 31, 0, KC_GPU_TEXT_FASTQ };
[[maybe_unused]] static const struct rules PLAIN_FASTA = { 31, 31, 0, KC_GPU_TEXT_FASTA };

#endif
