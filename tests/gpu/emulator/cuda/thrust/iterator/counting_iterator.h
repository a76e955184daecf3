#include <thrust/iterator/transform_iterator.h>
