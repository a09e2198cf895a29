#pragma once
// Connections of a process to itself.

#include <utility>

#include "base/process_descriptor.hpp"

namespace rondo::transport::tcp {

/// The two ends of a TCP connection over the loopback interface, made by nobody else. Errors: SystemError.
std::pair<ProcessDescriptor, ProcessDescriptor> loopback_pair();

}  // namespace rondo::transport::tcp
