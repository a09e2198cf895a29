#include "base/cpus.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include "unit/base/temporary.hpp"

namespace rondo {
namespace {

TEST(Cpus, QuotaOfCgroup2IsTheSmallestOnTheWay) {
    const TemporaryDirectory root;
    root.write("proc/self/cgroup", "0::/job/step\n");
    root.write("sys/fs/cgroup/job/cpu.max", "250000 100000\n");
    root.write("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    EXPECT_DOUBLE_EQ(cpu_limits(root.path()).quota, 2.5);
    root.write("sys/fs/cgroup/job/step/cpu.max", "150000 100000\n");
    EXPECT_DOUBLE_EQ(cpu_limits(root.path()).quota, 1.5);
}

TEST(Cpus, QuotaOfAContainersOwnMountCounts) {
    const TemporaryDirectory root;
    root.write("proc/self/cgroup", "0::/../../not/here\n");
    root.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
    EXPECT_DOUBLE_EQ(cpu_limits(root.path()).quota, 3);
}

TEST(Cpus, QuotaOfCgroup1) {
    const TemporaryDirectory root;
    root.write("proc/self/cgroup", "9:memory:/a\n4:cpu,cpuacct:/a\n1:name=systemd:/a\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
    root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "200000\n");
    EXPECT_DOUBLE_EQ(cpu_limits(root.path()).quota, 2);
    root.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
    EXPECT_DOUBLE_EQ(cpu_limits(root.path()).quota, 0);
}

TEST(Cpus, NonsenseIsNoLimit) {
    const TemporaryDirectory root;
    EXPECT_EQ(cpu_limits(root.path()).quota, 0);
    root.write("proc/self/cgroup", "0::/a\n::\nnothing\n");
    root.write("sys/fs/cgroup/a/cpu.max", "lots of 0\n");
    EXPECT_EQ(cpu_limits(root.path()).quota, 0);
}

TEST(Cpus, UsableIsWholeAndAtLeastOne) {
    const auto usable = [](int affinity, double quota) {
        return CpuLimits{.online = 64, .affinity = affinity, .quota = quota}.usable();
    };
    EXPECT_EQ(usable(8, 0), 8);
    EXPECT_EQ(usable(8, 2.9), 2);
    EXPECT_EQ(usable(8, 0.2), 1);
    EXPECT_EQ(usable(2, 16), 2);
}

TEST(Cpus, AffinityIsThatOfTheThread) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(cpu_limits().affinity, CPU_COUNT(&before));
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(cpu_limits().affinity, 1);
    EXPECT_EQ(cpu_limits().usable(), 1);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Machine, IsDescribed) {
    const Machine machine = describe_machine();
    EXPECT_FALSE(machine.host.empty());
    EXPECT_FALSE(machine.cpu.empty());
    EXPECT_GT(machine.memory_bytes, 1U << 20U);
    EXPECT_EQ(machine.kernel.rfind("Linux ", 0), 0U);
    const std::string text = machine_text(machine);
    EXPECT_NE(text.find(machine.cpu), std::string::npos);
    EXPECT_NE(text.find("cores usable"), std::string::npos);
}

}  // namespace
}  // namespace rondo
