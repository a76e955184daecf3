/*
 * Iterators whose values are computed, for the emulator: as much as its CUB requires.
 */
#ifndef KC_EMULATED_TRANSFORM_ITERATOR_H
#define KC_EMULATED_TRANSFORM_ITERATOR_H

#include <cstddef>

namespace thrust
{

template <class T> struct counting_iterator {
        T first;

        explicit counting_iterator(T first) : first(first)
        {
        }

        T operator[](ptrdiff_t i) const
        {
                return first + (T)i;
        }
};

template <class Function, class Iterator> struct transform_iterator {
        Iterator first;
        Function function;

        auto operator[](ptrdiff_t i) const
        {
                return function(first[i]);
        }
};

template <class Iterator, class Function>
transform_iterator<Function, Iterator> make_transform_iterator(Iterator first, Function function)
{
        return { first, function };
}

} // namespace thrust

#endif
