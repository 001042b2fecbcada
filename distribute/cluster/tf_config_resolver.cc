// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/tf_config_resolver.h"

#include <utility>

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

// A member that is a text; none where it is missing or null.
std::optional<std::string> text_of(const Json& object, const char* name) {
  const Json* value = object.find(name);
  if (!value || value->is_null()) return std::nullopt;
  check<InvalidArgument>(value->is_string(), "{}: expected \"{}\" to be a string, got {}.", kWhere,
                         name, value->excerpt());
  return value->as_string();
}

// Python's int(): a number, or its text.
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

class TFConfig : public ClusterResolverImpl {
 public:
  explicit TFConfig(const TFConfigClusterResolverOptions& options) {
    const Json config = parse_tf_config(options.read(kWhere).value_or(""));
    if (const Json* cluster = config.find("cluster")) {
      cluster_ = ClusterSpec::from_json(*cluster, kWhere);
    }
    if (const Json* task = config.find("task")) {
      check<InvalidArgument>(task->is_object(),
                             "{}: expected \"task\" as an object like {{\"type\": \"worker\", "
                             "\"index\": 0}}, got {}.",
                             kWhere, task->excerpt());
      task_type_ = text_of(*task, "type");
      const Json* index = task->find("index");
      if (index && !index->is_null()) task_id_ = index_of_task(*index);
    }
    if (options.task_type) task_type_ = options.task_type;
    if (options.task_id) task_id_ = options.task_id;
    rpc_layer_ = options.rpc_layer ? *options.rpc_layer : text_of(config, "rpc_layer").value_or("");
    environment_ =
        options.environment ? *options.environment : text_of(config, "environment").value_or("");
    session_master_ = text_of(config, "session_master");
    check_all();
  }

  std::string name() const override { return "TFConfigClusterResolver"; }
  ClusterSpec cluster_spec() const override { return cluster_; }
  std::optional<std::string> task_type() const override { return task_type_; }
  std::optional<int64_t> task_id() const override { return task_id_; }
  std::string environment() const override { return environment_; }
  std::string rpc_layer() const override { return rpc_layer_; }
  std::string master(const std::optional<Task>& task,
                     const std::optional<std::string>& rpc_layer) const override {
    if (session_master_) return *session_master_;
    const std::vector<std::string> jobs = cluster_.jobs();
    if (jobs.size() == 1 && cluster_.num_tasks(jobs.front()) == 1) return "";
    return ClusterResolverImpl::master(task, rpc_layer);
  }

 private:
  void check_all() const {
    check_cluster(cluster_, kWhere);
    if (!cluster_) return;
    check<InvalidArgument>(task_type_.has_value() == task_id_.has_value(),
                           "{}: expected \"task\" with both a \"type\" and an \"index\", got no "
                           "\"{}\".",
                           kWhere, task_type_ ? "index" : "type");
    if (task_type_) check_task(cluster_, {*task_type_, *task_id_}, kWhere);
  }

  ClusterSpec cluster_;
  std::optional<std::string> task_type_;
  std::optional<int64_t> task_id_;
  std::string rpc_layer_;
  std::string environment_;
  std::optional<std::string> session_master_;
};

}  // namespace

TFConfigClusterResolver::TFConfigClusterResolver(const TFConfigClusterResolverOptions& options)
    : ClusterResolver(std::make_shared<TFConfig>(options)) {}

}  // namespace cornu::distribute
