/** Visible at its own path. */
export interface SeenDirectory {
  /** Absolute real path. */
  path: string;
  writable?: boolean;
  /** Absolute real paths inside it that are covered. */
  hidden?: readonly string[];
  /** Expected output of `stat -c %d:%i`, if it could have been replaced since the check. */
  identity?: string;
}

/** Programs and libraries on Linux; missing directories are skipped. */
export const SYSTEM = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/run/current-system"],
  ...["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"],
];

/** The exit code if a directory is not the one that was checked. */
export const EXCHANGED = 97;

/**
 * Returns the mounts of a sandbox that shows only the system's programs and these directories, as
 * bwrap arguments. Use them once: they depend on the current file system.
 */
export function aloneMounts(directories: readonly SeenDirectory[]): string[] {
  return [
    ...SYSTEM.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
    ...directories.flatMap(({ path, writable, hidden = [] }) => [
      ...[writable ? "--bind" : "--ro-bind", path, path],
      ...hidden.filter((each) => each.startsWith(`${path}/`)).flatMap(cover),
    ]),
  ];
}

/** A missing path needs no cover. */
function cover(path: string): string[] {
  try {
    return Deno.statSync(path).isDirectory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
  } catch {
    return [];
  }
}

/** Returns a shell command that runs the program only if no directory was replaced. */
export function checkedFirst(
  directories: readonly SeenDirectory[],
  argv: readonly string[],
): string[] {
  const known = directories.flatMap(({ path, identity }) => identity ? [path, identity] : []);
  // Directories of the PATH other than the system's are not in this sandbox.
  const script = `PATH=\${PATH:+$PATH:}/usr/bin:/bin
n=$1; shift
while [ "$n" -gt 0 ]; do
  [ "$(stat -c %d:%i "$1")" = "$2" ] || exit ${EXCHANGED}
  shift 2; n=$((n - 2))
done
exec "$@"`;
  return ["/bin/sh", "-c", script, "sh", String(known.length), ...known, ...argv];
}
