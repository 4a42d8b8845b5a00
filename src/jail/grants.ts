/** What of the machine a person opens to commands: `[sandbox] grant` in `daemon.toml`. */

export const GRANTS = ["ssh-agent", "docker", "podman", "gpu", "keyring", "usb"] as const;

export type Grant = typeof GRANTS[number];

/** What each grant opens, for the person. */
export const OPENED: Readonly<Record<Grant, string>> = {
  "ssh-agent": "commands can log in and sign with every key that your SSH agent holds, but not " +
    "read the keys",
  docker: "commands can start containers as root with any directory of this machine: the sandbox " +
    "no longer protects you",
  podman: "commands can start containers with any directory that Podman's user can read: the " +
    "sandbox no longer protects you",
  gpu: "commands can use the graphics cards, and reach the drivers in the kernel",
  keyring: "commands can reach everything on your session bus, such as saved passwords, and " +
    "start programs outside of the sandbox: it no longer protects you",
  usb: "commands can talk to every USB device that you can: disks, keyboards, security keys",
};

/** What each grant gives to commands, for the model. */
const GIVEN: Readonly<Record<Grant, string>> = {
  "ssh-agent": "the person's SSH agent, for ssh and git over SSH, which also need the network; " +
    "their key files and their settings of ssh stay hidden",
  docker: "Docker, at DOCKER_HOST",
  podman: "Podman, at CONTAINER_HOST",
  gpu: "the graphics cards",
  keyring: "the session bus with the keyring, at DBUS_SESSION_BUS_ADDRESS",
  usb: "the USB devices",
};

/** Says for the model what is granted to its commands. @param there those that the machine has */
export function grantsText(grants: readonly Grant[], there: readonly Grant[]): string {
  return grants.map((grant) =>
    there.includes(grant)
      ? `${grant} (${GIVEN[grant]})`
      : `${grant} (granted, but not there on this machine)`
  ).join("; ");
}

/** Says for the model where git may use the person's credentials. */
export function gitText(hosts: readonly string[]): string {
  return `the person's credentials for git at ${
    hosts.join(", ")
  }: git reaches these hosts through ` +
    "svc, which adds the credential; the person is asked about each repository that is pushed to. " +
    "Leave remotes as they are: addresses such as http://HOST.git.svc.invalid/ in git's output " +
    "stand for https://HOST/";
}

/** Says which grants a command has, for the person who is asked about it; undefined without any. */
export function grantedWords(grants: readonly Grant[] = []): string | undefined {
  return grants.length === 0 ? undefined : `with ${grants.join(", ")} granted`;
}
