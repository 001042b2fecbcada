// SPDX-License-Identifier: Apache-2.0
#include "framework/model/dictionary_paths.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cornu {
namespace {

// The keys of a path.
std::vector<std::string> keys_of(const std::string& path) {
  std::vector<std::string> keys;
  size_t begin = 0;
  for (size_t end; (end = path.find('/', begin)) != std::string::npos; begin = end + 1) {
    keys.push_back(path.substr(begin, end - begin));
  }
  keys.push_back(path.substr(begin));
  return keys;
}

// `outer` with the value at these keys from `level` on.
Json with_value(Json outer, const std::vector<std::string>& keys, size_t level, const Json& value) {
  const std::string& key = keys[level];
  if (level + 1 == keys.size()) {
    outer.set(key, value);
    return outer;
  }
  const Json* inner = outer.find(key);
  outer.set(key, with_value(inner ? *inner : Json::object(), keys, level + 1, value));
  return outer;
}

// The places of the paths, sorted by keys.
std::vector<size_t> sorted_places(const std::vector<std::string>& paths) {
  std::vector<std::vector<std::string>> keys;
  for (const std::string& path : paths) keys.push_back(keys_of(path));
  std::vector<size_t> places(paths.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::sort(places, {}, [&](size_t place) { return keys[place]; });
  return places;
}

}  // namespace

std::string path_in(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + '/' + key;
}

Json nested_object(const std::vector<std::string>& paths, const std::vector<Json>& values) {
  Json result = Json::object();
  for (size_t i = 0; i < paths.size(); ++i) {
    result = with_value(std::move(result), keys_of(paths[i]), 0, values[i]);
  }
  return result;
}

std::vector<Json::Member> values_by_path(const Json& nested) {
  std::vector<Json::Member> result;
  for (const auto& [key, value] : nested.as_object()) {
    if (!value.is_object()) {
      result.emplace_back(key, value);
      continue;
    }
    for (auto& [path, inner] : values_by_path(value)) {
      result.emplace_back(path_in(key, path), std::move(inner));
    }
  }
  return result;
}

Json::Array values_at(const Json& nested, const std::vector<std::string>& paths) {
  Json::Array result;
  for (const std::string& path : paths) {
    const Json* value = &nested;
    for (const std::string& key : keys_of(path)) {
      value = value && value->is_object() ? value->find(key) : nullptr;
    }
    result.push_back(value ? *value : Json());
  }
  return result;
}

size_t number_of_entry(const std::vector<std::string>& paths, size_t place) {
  if (paths.empty()) return place;
  const std::vector<size_t> places = sorted_places(paths);
  return static_cast<size_t>(std::ranges::find(places, place) - places.begin());
}

size_t place_of_entry(const std::vector<std::string>& paths, size_t number) {
  return paths.empty() ? number : sorted_places(paths)[number];
}

}  // namespace cornu
