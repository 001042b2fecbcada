// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/tf_config_resolver.h"

#include "distribute/cluster/fixed_resolver.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr const char* kWhere = "TF_CONFIG";
constexpr const char* kForm =
    R"({"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": "worker", "index": 0}})";

Json parse_tf_config(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  const Json config = [&] {
    try {
      return Json::parse(text);
    } catch (const DataLoss& error) {
      raise<InvalidArgument>("{}: expected JSON like {}, got {}. {}", kWhere, kForm,
                             Json(text).excerpt(), error.what());
    }
  }();
  check<InvalidArgument>(config.is_object(), "{}: expected an object like {}, got {}.", kWhere,
                         kForm, config.excerpt());
  return config;
}

// Reads a string member; nullopt when it is missing or null.
std::optional<std::string> text_of(const Json& object, const char* name) {
  const Json* value = object.find(name);
  if (!value || value->is_null()) return std::nullopt;
  check<InvalidArgument>(value->is_string(), "{}: expected \"{}\" to be a string, got {}.", kWhere,
                         name, value->excerpt());
  return value->as_string();
}

// Like Python's int(): a number, or a string containing one.
int64_t index_of_task(const Json& value) {
  if (value.is_int()) return value.as_int();
  try {
    const Json number = value.is_string() ? Json::parse(value.as_string()) : value;
    return number.as_int();
  } catch (const Error&) {
    raise<InvalidArgument>(
        "{}: expected \"index\" of \"task\" to be a whole number from 0, got {}.", kWhere,
        value.excerpt());
  }
}

void check_own_task(const FixedCluster& known) {
  check_cluster(known.cluster, kWhere);
  if (!known.cluster) return;
  check<InvalidArgument>(known.task_type.has_value() == known.task_id.has_value(),
                         "{}: expected \"task\" with both a \"type\" and an \"index\", got no "
                         "\"{}\".",
                         kWhere, known.task_type ? "index" : "type");
  if (known.task_type) check_task(known.cluster, {*known.task_type, *known.task_id}, kWhere);
}

FixedCluster cluster_of(const Json& config, const TFConfigClusterResolverOptions& options) {
  FixedCluster known{.name = "TFConfigClusterResolver"};
  if (const Json* cluster = config.find("cluster")) {
    known.cluster = ClusterSpec::from_json(*cluster, kWhere);
  }
  if (const Json* task = config.find("task")) {
    check<InvalidArgument>(task->is_object(),
                           "{}: expected \"task\" as an object like {{\"type\": \"worker\", "
                           "\"index\": 0}}, got {}.",
                           kWhere, task->excerpt());
    known.task_type = text_of(*task, "type");
    const Json* index = task->find("index");
    if (index && !index->is_null()) known.task_id = index_of_task(*index);
  }
  if (options.task_type) known.task_type = options.task_type;
  if (options.task_id) known.task_id = options.task_id;
  known.rpc_layer =
      options.rpc_layer ? *options.rpc_layer : text_of(config, "rpc_layer").value_or("");
  known.environment =
      options.environment ? *options.environment : text_of(config, "environment").value_or("");
  check_own_task(known);
  return known;
}

class TFConfig : public FixedResolver {
 public:
  TFConfig(const Json& config, const TFConfigClusterResolverOptions& options)
      : FixedResolver(cluster_of(config, options)),
        session_master_(text_of(config, "session_master")) {}

  std::string master(const std::optional<Task>& task,
                     const std::optional<std::string>& rpc_layer) const override {
    if (session_master_) return *session_master_;
    const std::vector<std::string> jobs = known_.cluster.jobs();
    if (jobs.size() == 1 && known_.cluster.num_tasks(jobs.front()) == 1) return "";
    return FixedResolver::master(task, rpc_layer);
  }

 private:
  const std::optional<std::string> session_master_;
};

}  // namespace

TFConfigClusterResolver::TFConfigClusterResolver(const TFConfigClusterResolverOptions& options)
    : ClusterResolver(std::make_shared<TFConfig>(parse_tf_config(options.read(kWhere).value_or("")),
                                                 options)) {}

}  // namespace cornu::distribute
