// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/job_ends.h"

#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "distribute/cluster/at_exit.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

// Tasks that are gone or serve another job needn't be notified.
void tell(const std::string& address, const JobTasks& tasks, const std::string& method) {
  try {
    CallClient(address, tasks.credentials)
        .call(method, {Json::object({{"job", tasks.job}, {"tasks", tasks.addresses}})});
  } catch (const Error&) {
  }
}

// Concurrently: a hanging task mustn't keep the others waiting until its call times out.
void tell_all(const std::map<std::string, JobTasks>& by_address, const std::string& method) {
  std::vector<std::thread> threads;
  for (const auto& [address, tasks] : by_address) {
    const auto told = [&address = address, &tasks = tasks, &method] {
      tell(address, tasks, method);
    };
    try {
      threads.emplace_back(told);
    } catch (const std::system_error&) {  // out of threads
      told();
    }
  }
  for (std::thread& thread : threads) thread.join();
}

// Never destroyed: the tasks are notified at process exit.
struct Ends {
  std::mutex mutex;
  std::map<std::string, JobTasks> by_address;
  AtExit at_exit{[this](int code) {
    const std::lock_guard lock(mutex);
    if (code == 0) tell_all(by_address, "end");
  }};

  static Ends& get() {
    static auto* const ends = new Ends;
    return *ends;
  }
};

}  // namespace

void leave_job(const JobTasks& tasks) {
  std::map<std::string, JobTasks> by_address;
  for (const std::string& address : tasks.addresses) by_address.emplace(address, tasks);
  tell_all(by_address, "leave");
}

void end_job_at_exit(const JobTasks& tasks) {
  Ends& ends = Ends::get();
  const std::lock_guard lock(ends.mutex);
  for (const std::string& address : tasks.addresses)
    ends.by_address.insert_or_assign(address, tasks);
}

}  // namespace cornu::distribute
