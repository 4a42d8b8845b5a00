/** Finds what a {@linkcode Grant} opens on this machine, and binds it into a sandbox. */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { type Grant, GRANTS } from "./grants.ts";
import { realDirectory } from "./toolchains.ts";

/** Where to look for what is granted. */
export interface Surrounded {
  /** Variables of the daemon, and those of `[sandbox] env`. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Real path. */
  home: string | undefined;
  /**
   * Real paths that sessions can write. A socket in there is not opened: a session could replace
   * it by a link to one that is not granted.
   */
  writable: readonly string[];
}

interface GrantedSocket {
  /** Of the person's program. */
  path: string;
  /** In a sandbox, where the directory of the path may be the session's own or hidden. */
  inside: string;
  variable: string;
  /** Before the path in the variable. */
  scheme: string;
}

/** All that is opened by some grants. */
export interface GrantedPlaces {
  there: readonly Grant[];
  sockets: readonly GrantedSocket[];
  /** Device files and directories of these. */
  devices: readonly string[];
  /** Parts of `/sys` about the devices. */
  system: readonly string[];
}

/** Where a client finds its socket: in its variable, otherwise at the first of the paths. */
interface SocketKind extends Pick<GrantedSocket, "inside" | "variable" | "scheme"> {
  usual(runtime: string, home: string): string[];
}

const SOCKETS: Partial<Record<Grant, SocketKind>> = {
  "ssh-agent": {
    inside: "/run/svc-ssh-agent",
    variable: "SSH_AUTH_SOCK",
    scheme: "",
    usual: () => [],
  },
  docker: {
    // Where programs without DOCKER_HOST look, too.
    inside: "/run/docker.sock",
    variable: "DOCKER_HOST",
    scheme: "unix://",
    usual: (runtime, home) => [
      "/var/run/docker.sock",
      `${runtime}/docker.sock`,
      `${home}/.docker/run/docker.sock`,
      `${home}/.docker/desktop/docker.sock`,
    ],
  },
  podman: {
    inside: "/run/podman/podman.sock",
    variable: "CONTAINER_HOST",
    scheme: "unix://",
    usual: (runtime) => [`${runtime}/podman/podman.sock`, "/run/podman/podman.sock"],
  },
  keyring: {
    inside: "/run/svc-session-bus",
    variable: "DBUS_SESSION_BUS_ADDRESS",
    scheme: "unix:path=",
    usual: (runtime) => [`${runtime}/bus`],
  },
};

/** Finds what some grants open; what this machine does not have is left out. */
export function grantedPlaces(grants: readonly Grant[], where: Surrounded): GrantedPlaces {
  const sockets: GrantedSocket[] = [];
  const devices: string[] = [];
  const system: string[] = [];
  const there = GRANTS.filter((grant) => {
    if (!grants.includes(grant)) return false;
    const kind = SOCKETS[grant];
    if (kind !== undefined) {
      const { usual: _, ...how } = kind;
      const path = socketOf(kind, where);
      if (path !== undefined) sockets.push({ path, ...how });
      return path !== undefined;
    }
    const found = grant === "gpu" ? graphicsCards() : existing(["/dev/bus/usb"]);
    devices.push(...found);
    if (found.length > 0) system.push(...existing(grant === "gpu" ? SYS_GPU : SYS_USB));
    return found.length > 0;
  });
  return { there, sockets, devices, system };
}

/** Returns the variables with which clients outside of a sandbox find the sockets. */
export function variablesOutside({ sockets }: GrantedPlaces): Record<string, string> {
  return Object.fromEntries(
    sockets.map(({ variable, scheme, path }) => [variable, scheme + path]),
  );
}

/** Returns the variables with which clients in a sandbox find the sockets. */
export function variablesInside({ sockets }: GrantedPlaces): Record<string, string> {
  return Object.fromEntries(
    sockets.map(({ variable, scheme, inside }) => [variable, scheme + inside]),
  );
}

/** Returns bwrap arguments that open the places, above `/run`, `/dev` and `/sys`. */
export function grantMounts(
  { there, sockets, devices, system }: GrantedPlaces,
  { workdir, home, binder }: { workdir: string; home: string | undefined; binder: Binder },
): Argument[] {
  const known_hosts = home === undefined ? undefined : join(home, ".ssh/known_hosts");
  return [
    ...sockets.flatMap(({ path, inside }) => binder.bind(path, undefined, inside)),
    ...devices.flatMap((path) => ["--dev-bind-try", path, path]),
    ...system.flatMap((path) => ["--ro-bind-try", path, path]),
    // Without it, ssh refuses every server. The rest of ~/.ssh stays hidden.
    ...(there.includes("ssh-agent") && known_hosts !== undefined &&
        !isWithin(known_hosts, workdir) && binder.kind(known_hosts) === "file"
      ? binder.bind(known_hosts, "ro")
      : []),
  ];
}

/** A session bus may have several addresses, each with further fields. */
function socketOf(
  { variable, scheme, usual }: SocketKind,
  { environment, home, writable }: Surrounded,
): string | undefined {
  const named = environment[variable]?.split(/[;,]/, 1)[0];
  const runtime = environment.XDG_RUNTIME_DIR ?? `/run/user/${Deno.uid()}`;
  const paths = named
    ? [named.startsWith(scheme) ? named.slice(scheme.length) : ""]
    : usual(runtime, home ?? "/");
  for (const path of paths) {
    if (!path.startsWith("/")) continue;
    try {
      const real = Deno.realPathSync(path);
      const own = [path, real].every((each) => !writable.some((dir) => isWithin(each, dir)));
      if (own && Deno.statSync(real).isSocket) return real;
    } catch {
      // It is not there.
    }
  }
}

const SYS_GPU = ["/sys/class/drm", "/sys/class/kfd", "/sys/dev/char", "/sys/bus/pci"];
const SYS_USB = ["/sys/bus/usb", "/sys/dev/char"];

function existing(paths: readonly string[]): string[] {
  return paths.filter((path) => realDirectory(path) === path);
}

function graphicsCards(): string[] {
  try {
    return [...Deno.readDirSync("/dev")]
      .filter(({ name, isSymlink }) => !isSymlink && /^(?:dri|kfd|nvidia.*)$/.test(name))
      .map(({ name }) => `/dev/${name}`);
  } catch {
    return [];
  }
}
