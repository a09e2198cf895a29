// What the C++ interface accepts and refuses at compile time.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <rondo/rondo.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

template <class In, class Out>
concept CanAllReduce = requires(rondo::Communicator& comm, In&& in, Out&& out) {
    comm.all_reduce(std::forward<In>(in), std::forward<Out>(out));
};

using Floats = std::vector<float>;

static_assert(rondo::data_type_of<std::int8_t> == rondoInt8);
static_assert(rondo::data_type_of<std::uint8_t> == rondoUint8);
static_assert(rondo::data_type_of<std::byte> == rondoUint8);
static_assert(rondo::data_type_of<std::int16_t> == rondoInt16);
static_assert(rondo::data_type_of<std::uint16_t> == rondoUint16);
static_assert(rondo::data_type_of<std::int32_t> == rondoInt32);
static_assert(rondo::data_type_of<std::uint32_t> == rondoUint32);
static_assert(rondo::data_type_of<std::int64_t> == rondoInt64);
static_assert(rondo::data_type_of<long long> == rondoInt64);
static_assert(rondo::data_type_of<std::uint64_t> == rondoUint64);
static_assert(rondo::data_type_of<unsigned long long> == rondoUint64);
static_assert(rondo::data_type_of<rondo::Half> == rondoFloat16);
static_assert(rondo::data_type_of<rondo::Bfloat16> == rondoBfloat16);
static_assert(rondo::data_type_of<float> == rondoFloat32);
static_assert(rondo::data_type_of<double> == rondoFloat64);
static_assert(!rondo::Element<bool> && !rondo::Element<long double> && !rondo::Element<std::string>);
static_assert(!rondo::Element<float*> && !rondo::Element<const float>);

static_assert(CanAllReduce<const Floats&, Floats&>);
static_assert(CanAllReduce<std::span<const float>, std::span<float>>);
static_assert(CanAllReduce<std::array<float, 4>&, Floats&>);
static_assert(!CanAllReduce<Floats&, const Floats&>, "the output is const");
static_assert(!CanAllReduce<Floats&, std::span<const float>>, "the output is const");
static_assert(!CanAllReduce<Floats&, std::vector<double>&>, "two element types");
static_assert(!CanAllReduce<Floats&, Floats>, "the output is a temporary");
static_assert(!CanAllReduce<Floats, Floats&>, "the input is a temporary");
static_assert(!CanAllReduce<std::vector<bool>&, std::vector<bool>&>, "no such element type");

static_assert(!std::is_copy_constructible_v<rondo::Communicator> && !std::is_copy_assignable_v<rondo::Communicator>);
static_assert(std::is_nothrow_move_constructible_v<rondo::Communicator>);
static_assert(std::is_nothrow_move_assignable_v<rondo::Communicator>);
static_assert(!std::is_copy_constructible_v<rondo::Stream> && std::is_nothrow_move_constructible_v<rondo::Stream>);
static_assert(!std::is_move_constructible_v<rondo::Group>);
static_assert(std::is_nothrow_destructible_v<rondo::Group> && std::is_nothrow_destructible_v<rondo::Communicator>);

TEST(Compile, HeaderAndLibraryAreOneVersion) { EXPECT_EQ(rondo::version(), RONDO_VERSION_CODE); }

}  // namespace
