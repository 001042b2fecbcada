// SPDX-License-Identifier: Apache-2.0
#include "tests/distribute/certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "framework/core/error.h"

namespace cornu::test {
namespace {

constexpr long kDay = 24 * 60 * 60;  // seconds

void require(bool works) { check<Internal>(works, "OpenSSL makes no certificate."); }

std::string text_of(const std::function<int(BIO*)>& write) {
  const std::shared_ptr<BIO> bio(BIO_new(BIO_s_mem()), BIO_free);
  require(write(bio.get()) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string text_of(X509* certificate) {
  return text_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::shared_ptr<EVP_PKEY> new_key() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  require(key != nullptr);
  return key;
}

// A certificate of `key`, signed by `issuer`, or self-signed if `issuer` is null.
std::shared_ptr<X509> signed_certificate(const std::string& name, int days, EVP_PKEY* key,
                                         X509* issuer, EVP_PKEY* issuers_key) {
  static std::atomic<long> serial = 1;
  std::shared_ptr<X509> made(X509_new(), X509_free);
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), (days < 0 ? days - 1 : -1) * kDay);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), days * kDay);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer ? issuer : made.get()));
  if (!issuer) {
    const std::shared_ptr<X509_EXTENSION> is_authority(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE"),
        X509_EXTENSION_free);
    X509_add_ext(made.get(), is_authority.get(), -1);
  }
  require(X509_sign(made.get(), issuers_key, EVP_sha256()) > 0);
  return made;
}

}  // namespace

Authority::Authority(const std::string& name)
    : key_(new_key()),
      own_(signed_certificate(name, 10, key_.get(), nullptr, key_.get())),
      text_(text_of(own_.get())) {}

Certificate Authority::issue(const std::string& name, int days) const {
  const auto key = new_key();
  return {text_of(signed_certificate(name, days, key.get(), own_.get(), key_.get()).get()),
          text_of([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

Identity identity_of(const testing::TempFolder& folder, const std::string& certificate,
                     const std::string& key, const std::string& authority) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, content] :
       {std::pair("CORNU_TLS_CERT", certificate), std::pair("CORNU_TLS_KEY", key),
        std::pair("CORNU_TLS_CA", authority)}) {
    if (content.empty()) continue;
    const auto path = folder / name;
    std::ofstream(path, std::ios::binary) << content;
    variables[name] = path.string();
  }
  return distribute::TlsIdentity::of_environment([&](const std::string& name) {
    return variables.contains(name) ? std::optional(variables[name]) : std::nullopt;
  });
}

Identity identity_of(const Authority& authority) {
  const testing::TempFolder folder;
  const Certificate own = authority.issue("a task");
  return identity_of(folder, own.certificate, own.key, authority.certificate());
}

}  // namespace cornu::test
