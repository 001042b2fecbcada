# SPDX-License-Identifier: Apache-2.0
"""Checks the files of docs/cluster: their syntax is right, and what they refer to exists."""

import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "cluster"

INSTRUCTIONS = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "ENV", "EXPOSE", "CMD"}

try:
    import yaml
except ImportError:
    yaml = None


def instructions(text):
    """Returns (name, rest) of each instruction of a Dockerfile."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    for line in joined.splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest


@unittest.skipIf(yaml is None, "this Python has no PyYAML")
class Manifests(unittest.TestCase):
    def documents(self, name):
        return {document["kind"]: document
                for document in yaml.safe_load_all((FOLDER / name).read_text())}

    def check_containers(self, pod, token):
        names = {volume["name"] for volume in pod.get("volumes", [])}
        for container in pod["containers"]:
            self.assertIn("image", container)
            self.assertLessEqual({mount["name"] for mount in container.get("volumeMounts", [])}, names)
            secrets = [entry["valueFrom"]["secretKeyRef"]["name"] for entry in container["env"]
                       if entry["name"] == "CORNU_JOB_TOKEN"]
            self.assertEqual(secrets, [token])
            for argument in container.get("args", []):
                self.assertIsInstance(argument, str)  # a bare 3 would be a number: rejected

    def test_tfjob(self):
        documents = self.documents("tfjob.yaml")
        job = documents["TFJob"]
        self.assertEqual(job["apiVersion"], "kubeflow.org/v1")
        replicas = job["spec"]["tfReplicaSpecs"]
        self.assertLessEqual(set(replicas), {"Chief", "Worker", "PS", "Evaluator"})
        for replica in replicas.values():
            self.assertEqual(replica["restartPolicy"], "OnFailure")  # 143 and 75 restart it
            pod = replica["template"]["spec"]
            self.check_containers(pod, "mnist-token")
            self.assertEqual([container["name"] for container in pod["containers"]], ["tensorflow"])
            self.assertEqual([port["name"] for port in pod["containers"][0]["ports"]], ["tfjob-port"])
            for volume in pod["volumes"]:
                self.assertEqual(volume["persistentVolumeClaim"]["claimName"],
                                 documents["PersistentVolumeClaim"]["metadata"]["name"])

    def test_options_of_the_program(self):
        job = self.documents("tfjob.yaml")["TFJob"]
        container = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
        program = re.search(r"/(\w+):", container["image"]).group(1)
        source = (ROOT / "apps" / program / "main.cc").read_text()
        for argument in container["args"]:
            if argument.startswith("--"):
                self.assertIn(f'"{argument}"', source)

    def test_pods(self):
        documents = self.documents("pods.yaml")
        account = documents["ServiceAccount"]["metadata"]["name"]
        binding = documents["RoleBinding"]
        self.assertEqual([subject["name"] for subject in binding["subjects"]], [account])
        self.assertEqual(binding["roleRef"]["name"], documents["Role"]["metadata"]["name"])
        self.assertEqual(documents["Role"]["rules"],
                         [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])
        pods = documents["StatefulSet"]["spec"]
        self.assertEqual(pods["selector"]["matchLabels"], pods["template"]["metadata"]["labels"])
        self.assertEqual(pods["template"]["spec"]["serviceAccountName"], account)
        self.check_containers(pods["template"]["spec"], "mnist-token")


class Scripts(unittest.TestCase):
    def test_sbatch(self):
        script = FOLDER / "job.sbatch"
        subprocess.run(["bash", "-n", script], check=True)
        if shutil.which("shellcheck"):
            subprocess.run(["shellcheck", script], check=True)
        lines = script.read_text().splitlines()
        self.assertEqual(lines[0], "#!/usr/bin/env bash")
        options = [i for i, line in enumerate(lines) if line.startswith("#SBATCH ")]
        first_command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
        self.assertLess(max(options), first_command)  # sbatch reads no options after it
        for i in options:
            self.assertRegex(lines[i], r"^#SBATCH --[a-z-]+(=\S+)?$")

    def sbatch(self, *codes):
        """Returns what the script does when the program ends with these exit codes one after the
        other, and the script's own exit code."""
        said = subprocess.run(
            ["bash", "-c", f"""
srun() {{ while [[ $1 == --* ]]; do shift; done; SLURM_PROCID=1 "$@"; }}
program() {{
  local codes=({" ".join(str(code) for code in codes)})
  echo "$* with $CORNU_PORT_BASE, $CORNU_RESTARTS"
  return "${{codes[$CORNU_RESTARTS]}}"
}}
scontrol() {{ echo "scontrol $*"; }}
openssl() {{ echo token; }}
sleep() {{ :; }}
export -f srun scontrol openssl program sleep
HOME=$(mktemp -d) SLURM_JOB_ID=70001 SLURM_CPUS_PER_TASK=2 bash {FOLDER / "job.sbatch"} program x
"""], text=True, capture_output=True)
        return said.stdout.splitlines(), said.returncode

    def test_sbatch_requeues_what_kept_its_state(self):
        self.assertEqual(self.sbatch(0), (["x with 20004, 0"], 0))
        self.assertEqual(self.sbatch(143), (["x with 20004, 0", "scontrol requeue 70001"], 0))

    def test_sbatch_starts_tasks_again(self):
        runs = [f"x with 20004, {restart}" for restart in range(6)]
        self.assertEqual(self.sbatch(137, 75, 0), (runs[:3], 0))
        self.assertEqual(self.sbatch(3, 3, 3, 3, 3, 4), (runs, 4))
        self.assertEqual(self.sbatch(9, 143), ([*runs[:2], "scontrol requeue 70001"], 0))


class Dockerfile(unittest.TestCase):
    def test_instructions(self):
        found = list(instructions((FOLDER / "Dockerfile").read_text()))
        self.assertLessEqual({name for name, _ in found}, INSTRUCTIONS)
        self.assertEqual(found[0][0], "FROM")
        stages = [rest.split(" AS ")[1] for name, rest in found if name == "FROM" and " AS " in rest]
        for name, rest in found:
            if match := re.match(r"--from=(\w+) ", rest):
                self.assertIn(match.group(1), stages)
            if name == "RUN":
                subprocess.run(["bash", "-n", "-c", rest], check=True)
        self.assertEqual(found[-1][0], "ENTRYPOINT")

    def test_what_it_builds_is_there(self):
        for name, rest in instructions((FOLDER / "Dockerfile").read_text()):
            if name == "ARG":
                self.assertTrue((ROOT / "apps" / rest.split("=")[1] / "CMakeLists.txt").is_file())
        self.assertTrue((ROOT / "run").is_file())


class Page(unittest.TestCase):
    def test_links(self):
        page = ROOT / "docs" / "clusters.md"
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            self.assertTrue((page.parent / target).is_file(), target)


if __name__ == "__main__":
    unittest.main()
