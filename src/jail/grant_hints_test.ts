import { assertEquals } from "@std/assert";
import { gitHint, grantHints } from "./grant_hints.ts";
import { type Grant, GRANTS } from "./grants.ts";

const hinted = (output: string) =>
  GRANTS.filter((grant) => grantHints(output, [], [grant]).length > 0);

Deno.test("what clients say without their socket or device names the grant", () => {
  const said: [output: string, grant: Grant][] = [
    [
      "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon " +
      "running?",
      "docker",
    ],
    [
      "failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is " +
      "correct and if the daemon is running: dial unix /var/run/docker.sock: connect: no such " +
      "file or directory",
      "docker",
    ],
    [
      "docker.errors.DockerException: Error while fetching server API version: ('Connection " +
      "aborted.', FileNotFoundError(2, 'No such file or directory'))",
      "docker",
    ],
    ["trying\ncannot clone: Operation not permitted\nError: cannot re-exec process\n", "podman"],
    [
      'Error: unable to connect to Podman socket: Get "http://d/v5.0.0/libpod/_ping": dial unix ' +
      "/run/podman/podman.sock: connect: no such file or directory",
      "podman",
    ],
    ["Could not open a connection to your authentication agent.\r\n", "ssh-agent"],
    ["Error connecting to agent: No such file or directory", "ssh-agent"],
    ["git@example.com: Permission denied (publickey).\r\nfatal: no", "ssh-agent"],
    ["me@host: Permission denied (publickey,gssapi-keyex,password).", "ssh-agent"],
    ["Host key verification failed.\r\nfatal: Could not read from remote", "ssh-agent"],
    ["secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY", "keyring"],
    [
      "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure",
      "gpu",
    ],
    ["unable to initialize libusb: -99", "usb"],
  ];
  for (const [output, grant] of said) assertEquals(hinted(output), [grant], output);
});

Deno.test("other failures name no grant", () => {
  for (
    const output of [
      "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/x",
      "docker: command not found",
      "cp: cannot open 'a': Permission denied",
      "git@example.com: Permission denied (password).",
      "see: Could not open a connection to your authentication agent.",
      "Error connecting to agent: Permission denied",
      "ssh: Could not resolve hostname example.com: Temporary failure in name resolution",
      "cannot clone: Operation not permitted",
    ]
  ) assertEquals(hinted(output), [], output);
});

Deno.test("a hint keeps what is granted, and comes only for what the machine has", () => {
  const output = "Error connecting to agent: Connection refused";
  assertEquals(grantHints(output, ["gpu"], ["gpu", "ssh-agent"]), [
    "[ssh-agent is not granted to commands; the person can grant it: " +
    '[sandbox] grant = ["gpu", "ssh-agent"] in daemon.toml]',
  ]);
  assertEquals(grantHints(output, [], ["docker"]), []);
  assertEquals(grantHints(output, ["ssh-agent"], ["ssh-agent"]), []);
});

Deno.test("a git that has no login names the host where it could have the person's", () => {
  const named = (output: string) =>
    gitHint(output).map((note) => /no credential for (\S+) in/.exec(note)![1]);
  const said = [
    "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
    "fatal: could not read Password for 'https://me@git.example.org:8443': No such device or address",
    "fatal: could not read Username for 'https://github.com/me/project': Device not configured",
  ];
  assertEquals(said.map(named), [["github.com"], ["git.example.org:8443"], ["github.com"]]);
  assertEquals(named("fatal: could not read Username for 'ssh://a': x"), []);
  assertEquals(named("fatal: Authentication failed for 'https://github.com/a/b/'"), []);
});
