/*
 * What gpu/ uses of CUB, for the emulator: device-wide functions are loops on the host.
 *
 * As with CUB, temporary == NULL requests the temporary memory's size; in fact none is needed.
 */
#ifndef KC_EMULATED_CUB_CUH
#define KC_EMULATED_CUB_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace cub
{

enum { TEMPORARY_NBYTES = 256 };

/* Whether there is work to do; if not, *code is the function's result. */
static inline bool begin(void *temporary, size_t *nbytes, cudaError_t *code)
{
        bool asks = temporary == NULL;
        *code = !asks && *nbytes < TEMPORARY_NBYTES ? cudaErrorInvalidValue : cudaSuccess;
        if (asks)
                *nbytes = TEMPORARY_NBYTES;
        return !asks && *code == cudaSuccess;
}

template <class T> struct DoubleBuffer {
        T *d_buffers[2];
        int selector;

        DoubleBuffer(T *current, T *alternate) : d_buffers{ current, alternate }, selector(0)
        {
        }

        T *Current(void) const
        {
                return d_buffers[selector];
        }

        T *Alternate(void) const
        {
                return d_buffers[selector ^ 1];
        }
};

/* Write the sorted values to one buffer, and overwrite those that they were made of. */
template <class T> void replace(T *from, T *to, const std::vector<T> &sorted)
{
        std::copy(sorted.begin(), sorted.end(), to);
        memset((void *)from, emulator::POISON, sorted.size() * sizeof(T));
}

struct DeviceScan {
        template <class In, class Out>
        static cudaError_t ExclusiveSum(void *temporary, size_t &nbytes, In in, Out out, size_t n,
                                        cudaStream_t stream = NULL)
        {
                return sum(temporary, &nbytes, in, out, n, false, stream);
        }

        template <class In, class Out>
        static cudaError_t InclusiveSum(void *temporary, size_t &nbytes, In in, Out out, size_t n,
                                        cudaStream_t stream)
        {
                return sum(temporary, &nbytes, in, out, n, true, stream);
        }

      private:
        template <class In, class Out>
        static cudaError_t sum(void *temporary, size_t *nbytes, In in, Out out, size_t n,
                               bool with_own, cudaStream_t stream)
        {
                cudaError_t code;
                if (begin(temporary, nbytes, &code))
                        emulator::enqueue(stream, [=] { add_up(in, out, n, with_own); });
                return code;
        }

        template <class In, class Out> static void add_up(In in, Out out, size_t n, bool with_own)
        {
                typename std::decay<decltype(in[0])>::type before = 0, own;
                for (size_t i = 0; i < n; i++, before += own) {
                        own = in[i];
                        out[i] = with_own ? before + own : before;
                }
        }
};

struct DeviceRadixSort {
        template <class Key>
        static cudaError_t SortKeys(void *temporary, size_t &nbytes, DoubleBuffer<Key> &keys,
                                    size_t n, int begin_bit, int end_bit, cudaStream_t stream)
        {
                cudaError_t code;
                if (!begin(temporary, &nbytes, &code))
                        return code;
                Key *from = keys.Current(), *to = keys.Alternate();
                keys.selector ^= 1;
                emulator::enqueue(stream, [=] {
                        std::vector<Key> sorted(from, from + n);
                        Key mask = mask_for<Key>(begin_bit, end_bit);
                        std::stable_sort(sorted.begin(), sorted.end(),
                                         [mask](const Key &a, const Key &b) {
                                                 return (a & mask) < (b & mask);
                                         });
                        replace(from, to, sorted);
                });
                return cudaSuccess;
        }

        template <class Key, class Value>
        static cudaError_t SortPairs(void *temporary, size_t &nbytes, DoubleBuffer<Key> &keys,
                                     DoubleBuffer<Value> &values, size_t n, int begin_bit,
                                     int end_bit, cudaStream_t stream)
        {
                cudaError_t code;
                if (!begin(temporary, &nbytes, &code))
                        return code;
                Key *from = keys.Current(), *to = keys.Alternate();
                Value *values_from = values.Current(), *values_to = values.Alternate();
                keys.selector ^= 1;
                values.selector ^= 1;
                emulator::enqueue(stream, [=] {
                        std::vector<Key> sorted_keys(n);
                        std::vector<Value> sorted_values(n);
                        sort_pairs(from, sorted_keys.data(), values_from, sorted_values.data(), n,
                                   mask_for<Key>(begin_bit, end_bit));
                        replace(from, to, sorted_keys);
                        replace(values_from, values_to, sorted_values);
                });
                return cudaSuccess;
        }

        template <class Key, class Value>
        static cudaError_t SortPairs(void *temporary, size_t &nbytes, const Key *keys,
                                     Key *out_keys, const Value *values, Value *out_values,
                                     size_t n, int begin_bit, int end_bit, cudaStream_t stream)
        {
                cudaError_t code;
                if (begin(temporary, &nbytes, &code))
                        emulator::enqueue(stream, [=] {
                                sort_pairs(keys, out_keys, values, out_values, n,
                                           mask_for<Key>(begin_bit, end_bit));
                        });
                return code;
        }

      private:
        template <class Key> static Key mask_for(int begin_bit, int end_bit)
        {
                const int unused = 8 * (int)sizeof(Key) - end_bit;
                return (Key)((Key)((Key) ~(Key)0 << unused) >> unused) >> begin_bit << begin_bit;
        }

        template <class Key, class Value>
        static void sort_pairs(const Key *keys, Key *out_keys, const Value *values,
                               Value *out_values, size_t n, Key mask)
        {
                typedef std::pair<Key, Value> pair;
                std::vector<pair> pairs;
                for (size_t i = 0; i < n; i++)
                        pairs.push_back({ keys[i], values[i] });
                std::stable_sort(pairs.begin(), pairs.end(), [mask](const pair &a, const pair &b) {
                        return (a.first & mask) < (b.first & mask);
                });
                for (size_t i = 0; i < n; i++) {
                        out_keys[i] = pairs[i].first;
                        out_values[i] = pairs[i].second;
                }
        }
};

struct DeviceReduce {
        template <class Keys, class OutKeys, class Values, class OutValues, class N, class Operator>
        static cudaError_t ReduceByKey(void *temporary, size_t &nbytes, Keys keys, OutKeys out_keys,
                                       Values values, OutValues out_values, N *nout,
                                       Operator combine, int64_t n, cudaStream_t stream)
        {
                cudaError_t code;
                if (begin(temporary, &nbytes, &code))
                        emulator::enqueue(stream, [=] {
                                *nout = reduce<N>(keys, out_keys, values, out_values, combine, n);
                        });
                return code;
        }

      private:
        template <class N, class Keys, class OutKeys, class Values, class OutValues, class Operator>
        static N reduce(Keys keys, OutKeys out_keys, Values values, OutValues out_values,
                        Operator combine, int64_t n)
        {
                N to = 0;
                for (int64_t i = 0, j; i < n; i = j, to++) {
                        auto sum = values[i];
                        for (j = i + 1; j < n && keys[j] == keys[i]; j++)
                                sum = combine(sum, values[j]);
                        out_keys[to] = keys[i];
                        out_values[(ptrdiff_t)to] = sum;
                }
                return to;
        }
};

/* All threads of a block call this in a kernel, and the first thread adds up for all of them. As
 * with CUB, the storage may be reused after the caller's next barrier. */
template <class T, int NTHREADS> struct BlockScan {
        struct TempStorage {
                T values[NTHREADS], all;
        };

        TempStorage &storage;

        BlockScan(TempStorage &storage) : storage(storage)
        {
        }

        void ExclusiveSum(T value, T &before, T &all)
        {
                storage.values[threadIdx.x] = value;
                __syncthreads();
                if (threadIdx.x == 0) {
                        storage.all = 0;
                        for (T &own : storage.values)
                                storage.all += std::exchange(own, storage.all);
                }
                __syncthreads();
                before = storage.values[threadIdx.x];
                all = storage.all;
        }
};

template <class T, int NTHREADS> struct BlockReduce {
        struct TempStorage {
                T values[NTHREADS];
        };

        TempStorage &storage;

        BlockReduce(TempStorage &storage) : storage(storage)
        {
        }

        /* Only thread 0 receives the sum. */
        T Sum(T value)
        {
                storage.values[threadIdx.x] = value;
                __syncthreads();
                if (threadIdx.x != 0)
                        return (T)UINT64_C(0xa5a5a5a5a5a5a5a5);
                return std::accumulate(storage.values, storage.values + NTHREADS, (T)0);
        }
};

} // namespace cub

#endif
