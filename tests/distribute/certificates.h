// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, generated at run time.
#pragma once

#include <memory>
#include <string>

#include "distribute/cluster/tls.h"
#include "tests/support/files.h"

using EVP_PKEY = struct evp_pkey_st;
using X509 = struct x509_st;

namespace cornu::test {

// A certificate and its key, in PEM format.
struct Certificate {
  std::string certificate;
  std::string key;
};

class Authority {
 public:
  explicit Authority(const std::string& name);
  const std::string& certificate() const { return text_; }
  // Valid from a day ago until so many days from now.
  Certificate issue(const std::string& name, int days = 1) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> own_;
  std::string text_;
};

using Identity = std::shared_ptr<const distribute::TlsIdentity>;

// The identity that a task reads from files with these contents; "" represents a variable that
// isn't set.
Identity identity_of(const testing::TempFolder& folder, const std::string& certificate,
                     const std::string& key, const std::string& authority);
// The identity of a task with a certificate of this authority.
Identity identity_of(const Authority& authority);

}  // namespace cornu::test
