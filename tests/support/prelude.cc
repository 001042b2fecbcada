// SPDX-License-Identifier: Apache-2.0
// Empty: its target holds the precompiled headers of the tests.
