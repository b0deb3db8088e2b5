/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include <glib.h>
#include <glib/gstdio.h>

#include "base/ow-file.h"
#include "ow-sandbox-limits-private.h"

#define UNIT "openworker-0123456789ab.scope"
#define MIB  (G_GUINT64_CONSTANT (1) << 20)

typedef struct {
  const char *cpu;
  const char *memory;
  double      processors;
  guint64     bytes;
} Amount;

static void
test_amounts (void)
{
  static const Amount amounts[] = {
    { NULL, NULL, 0, 0 }, { "2", NULL, 2, 0 }, { "0.5", "1", 0.5, 1 }, { "500m", "1K", 0.5, 1000 },
    { "1500m", "512Mi", 1.5, 512 * MIB }, { "4096", "4Gi", 4096, 4096 * MIB },
    { "0.01", "3G", 0.01, 3000000000 }, { NULL, "2Ti", 0, 2048 * 1024 * MIB },
    { NULL, "7M", 0, 7000000 }, { NULL, "5T", 0, G_GUINT64_CONSTANT (5000000000000) },
    { NULL, "9Ki", 0, 9216 },
    /* As much as the configuration lets through is more than there is. */
    { NULL, "999999999999999Ti", 0, G_MAXINT64 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (amounts); i++)
    {
      OwSandboxLimits limits = { -1, 99 };

      ow_sandbox_limits_parse (&limits, amounts[i].cpu, amounts[i].memory);
      g_assert_cmpfloat_with_epsilon (limits.cpu, amounts[i].processors, 1e-9);
      g_assert_cmpuint (limits.memory, ==, amounts[i].bytes);
    }
}

/* Files of a kernel, and what of two processors, 300 MiB and the tasks they keep. */
typedef struct {
  const char         *name;
  const char         *cgroup;   /* of /proc/77/cgroup */
  const char         *files[8]; /* path and content, in turn */
  OwSandboxLimitKinds held;
} Kernel;

#define ALL (OW_SANDBOX_LIMIT_CPU | OW_SANDBOX_LIMIT_MEMORY | OW_SANDBOX_LIMIT_TASKS)
#define NEW "/sys/fs/cgroup/user.slice/" UNIT
#define OLD(controller) "/sys/fs/cgroup/" controller "/a/" UNIT

static const Kernel kernels[] = {
  { "all", "0::/user.slice/" UNIT "\n",
    { NEW "/cpu.max", "200000 100000\n", NEW "/memory.max", "314572800\n", NEW "/pids.max",
      "4096\n" }, ALL },
  { "stricter", "0::/user.slice/" UNIT "\n",
    { NEW "/cpu.max", "1000 100000\n", NEW "/memory.max", "4096\n", NEW "/pids.max", "10\n" },
    ALL },
  { "no-limit", "0::/user.slice/" UNIT "\n",
    { NEW "/cpu.max", "max 100000\n", NEW "/memory.max", "max\n", NEW "/pids.max", "max\n" }, 0 },
  { "no-controllers", "0::/user.slice/" UNIT "\n", { NULL }, 0 },
  { "only-pids", "0::/user.slice/" UNIT "\n", { NEW "/pids.max", "4096\n" },
    OW_SANDBOX_LIMIT_TASKS },
  { "more-than-wanted", "0::/user.slice/" UNIT "\n",
    { NEW "/cpu.max", "400000 100000\n", NEW "/memory.max", "629145600\n", NEW "/pids.max",
      "9999\n" }, 0 },
  { "other-period", "0::/user.slice/" UNIT "\n", { NEW "/cpu.max", "200000 10000\n" }, 0 },
  { "another-unit", "0::/user.slice/other.scope\n",
    { "/sys/fs/cgroup/user.slice/other.scope/cpu.max", "1000 100000\n",
      "/sys/fs/cgroup/user.slice/other.scope/memory.max", "4096\n" }, 0 },
  { "unit-above", "0::/" UNIT "/below\n",
    { "/sys/fs/cgroup/" UNIT "/below/memory.max", "4096\n" }, 0 },
  { "version-1", "5:pids:/a/" UNIT "\n4:memory:/a/" UNIT "\n3:cpuacct,cpu:/a/" UNIT "\n0::/\n",
    { OLD ("cpu") "/cpu.cfs_quota_us", "200000\n", OLD ("memory") "/memory.limit_in_bytes",
      "314572800\n", OLD ("pids") "/pids.max", "4096\n" }, ALL },
  { "version-1-no-limit", "4:memory:/a/" UNIT "\n3:cpu:/a/" UNIT "\n",
    { OLD ("cpu") "/cpu.cfs_quota_us", "-1\n", OLD ("memory") "/memory.limit_in_bytes",
      "9223372036854771712\n" }, 0 },
  { "hybrid", "4:memory:/\n0::/user.slice/" UNIT "\n",
    { "/sys/fs/cgroup/unified/user.slice/" UNIT "/pids.max", "4096\n" }, OW_SANDBOX_LIMIT_TASKS },
  { "no-lines", "", { NULL }, 0 },
  { "damaged", "nonsense\n0:\n:::\n", { NULL }, 0 },
};

static void
write_file (const char *root,
            const char *path,
            const char *content)
{
  g_autofree char *name = g_strconcat (root, path, NULL);
  g_autofree char *dir = g_path_get_dirname (name);

  g_assert_cmpint (g_mkdir_with_parents (dir, 0755), ==, 0);
  g_assert_true (g_file_set_contents (name, content, -1, NULL));
}

/* S26: what the kernel has is what holds, and nothing else. */
static void
test_held (gconstpointer data)
{
  const Kernel *kernel = data;
  const OwSandboxLimits limits = { 2, 300 * MIB };
  g_autofree char *root = g_dir_make_tmp ("ow-limits-XXXXXX", NULL);

  g_assert_cmpint (ow_sandbox_limits_held (&limits, root, 77, UNIT), ==, 0);
  write_file (root, "/proc/77/cgroup", kernel->cgroup);
  for (gsize i = 0; i + 1 < G_N_ELEMENTS (kernel->files) && kernel->files[i] != NULL; i += 2)
    write_file (root, kernel->files[i], kernel->files[i + 1]);
  g_assert_cmpint (ow_sandbox_limits_held (&limits, root, 77, UNIT), ==, kernel->held);
  g_assert_true (ow_file_remove_tree (root, NULL));
}

int
main (int    argc,
      char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sandbox-limits/amounts", test_amounts);
  for (gsize i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      g_autofree char *path = g_strconcat ("/sandbox-limits/S26/", kernels[i].name, NULL);

      g_test_add_data_func (path, &kernels[i], test_held);
    }
  return g_test_run ();
}
