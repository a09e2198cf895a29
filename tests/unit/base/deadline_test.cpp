#include "base/deadline.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rondo {
namespace {

using std::chrono::milliseconds;

TEST(Deadline, CountsFromItsStart) {
    const Deadline::Clock::time_point start{milliseconds(5000)};
    const Deadline deadline = Deadline::after(1.5, start);
    EXPECT_EQ(deadline.at(), start + milliseconds(1500));
    EXPECT_EQ(deadline.remaining(start + milliseconds(400)), milliseconds(1100));
    EXPECT_FALSE(deadline.expired(start + milliseconds(1499)));
    EXPECT_TRUE(deadline.expired(start + milliseconds(1500)));
    EXPECT_EQ(deadline.remaining(start + milliseconds(9000)), milliseconds(0));
}

TEST(Deadline, ZeroAndLessAreOver) {
    EXPECT_TRUE(Deadline::after(0).expired());
    EXPECT_TRUE(Deadline::after(-1e300).expired());
    EXPECT_FALSE(Deadline::after(3600).expired());
}

TEST(Deadline, NeverNeverComes) {
    EXPECT_FALSE(Deadline::never().expired());
    EXPECT_FALSE(Deadline::never().expired(Deadline::Clock::time_point::max()));
    EXPECT_EQ(Deadline::never().remaining(), Deadline::Clock::duration::max());
    for (const double seconds :
         {1e10, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        EXPECT_TRUE(Deadline::after(seconds).is_never()) << seconds;
    }
    EXPECT_FALSE(Deadline::after(1e9).is_never());
    EXPECT_LT(Deadline::after(1e6), Deadline::never());
}

TEST(Seconds, ChooseTheirUnit) {
    EXPECT_EQ(seconds_text(0), "0 s");
    EXPECT_EQ(seconds_text(600), "600 s");
    EXPECT_EQ(seconds_text(1234.5), "1234 s");
    EXPECT_EQ(seconds_text(12.5), "12.5 s");
    EXPECT_EQ(seconds_text(0.03), "30 ms");
    EXPECT_EQ(seconds_text(7e-6), "7 us");
    EXPECT_EQ(seconds_text(-0.03), "-30 ms");
}

}  // namespace
}  // namespace rondo
