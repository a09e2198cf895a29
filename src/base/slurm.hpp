#pragma once
// Who is a task that srun started. A batch script's own shell, and what it runs without srun, has SLURM_PROCID (0) and
// SLURM_NTASKS (those that the job may have) as well, but nobody else is with it: only srun tells its tasks of a step.

#include <array>

namespace rondo {

inline constexpr const char* kSlurmTask = "SLURM_PROCID";           ///< this task's number in its step
inline constexpr const char* kSlurmTasks = "SLURM_STEP_NUM_TASKS";  ///< of the step
inline constexpr const char* kSlurmStep = "SLURM_STEP_ID";

/// `set(name)`: whether a variable of the environment is there, and not empty.
template <class Set>
bool is_slurm_task(const Set& set) {
    for (const char* name : std::array{kSlurmTask, kSlurmTasks, kSlurmStep}) {
        if (!set(name)) return false;
    }
    return true;
}

}  // namespace rondo
