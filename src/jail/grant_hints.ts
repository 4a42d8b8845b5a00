/** Recognizes commands that failed because something is not granted to them. */
import type { Grant } from "./grants.ts";

/** What clients say that cannot reach their socket or device. */
const FAILED: Readonly<Record<Grant, RegExp>> = {
  docker: new RegExp(
    [
      "Cannot connect to the Docker daemon at unix://",
      "failed to connect to the docker API at unix://",
      "dial unix \\S*docker\\.sock: connect: (?:no such file or directory|connection refused)",
      // Docker's library for Python, Testcontainers for Java.
      "Error while fetching server API version: \\('Connection aborted\\.', " +
      "(?:FileNotFoundError|ConnectionRefusedError)",
      "Could not find a valid Docker environment",
    ].join("|"),
  ),
  podman: new RegExp(
    [
      "^Error: unable to connect to Podman socket: ",
      "^Cannot connect to Podman\\. Please verify your connection",
      // Without a server, it makes namespaces of its own, which the sandbox refuses.
      "^cannot clone: Operation not permitted\\nError: cannot re-exec process",
    ].join("|"),
    "m",
  ),
  "ssh-agent": new RegExp(
    [
      "^Could not open a connection to your authentication agent\\.",
      "^Error connecting to agent: (?:No such file or directory|Connection refused)",
      // ssh itself: without the agent it has no key, and without known_hosts no server.
      "^\\S+: Permission denied \\((?:[\\w-]+,)*publickey(?:,[\\w-]+)*\\)\\.",
      "^Host key verification failed\\.",
    ].join("|"),
    "m",
  ),
  keyring: /Cannot autolaunch D-Bus without X11 \$DISPLAY/,
  gpu: new RegExp(
    [
      "^NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
      "^Failed to initialize NVML: ",
      "/dev/(?:dri/\\w+|kfd|nvidia\\w+)\\b[^\\n]{0,40}: No such file or directory",
    ].join("|"),
    "m",
  ),
  usb: /^unable to initialize libusb: -99|\/dev\/bus\/usb\b[^\n]{0,40}: No such file or directory/m,
};

/**
 * Returns notes for a failed command on what the person could grant to it.
 *
 * @param grants what is granted now
 * @param possible what the machine has
 */
export function grantHints(
  output: string,
  grants: readonly Grant[],
  possible: readonly Grant[],
): string[] {
  const plain = output.replaceAll("\r\n", "\n");
  return possible
    .filter((grant) => !grants.includes(grant) && FAILED[grant].test(plain))
    .map((grant) => {
      const value = JSON.stringify([...grants, grant]).replaceAll(",", ", ");
      return `[${grant} is not granted to commands; the person can grant it: ` +
        `[sandbox] grant = ${value} in daemon.toml]`;
    });
}

/** Git has no login, and nobody to ask. */
const NO_LOGIN =
  /could not read (?:Username|Password) for 'https?:\/\/(?:[^@'/]*@)?([^'/]+)[^'\n]*'/;

/** Returns a note for a git that had no credential, on how the person could let it use theirs. */
export function gitHint(output: string): string[] {
  const [, host] = NO_LOGIN.exec(output) ?? [];
  if (host === undefined) return [];
  return [
    `[git has no credential for ${host} in the sandbox; the person can let it use theirs: ` +
    `"${host}" in git_credentials, and network = "allowed", under [sandbox] in daemon.toml. It ` +
    `then works at https://${host}/ without a user name, and without network: true]`,
  ];
}
