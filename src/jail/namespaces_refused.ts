/** Explains why a machine refuses the user namespaces that bubblewrap needs, and how to allow them. */
import { KernelFiles } from "../os/kernel_files.ts";

/** Why bubblewrap does not work, and the command that mends it. */
export interface Refusal {
  why: string;
  mend?: string;
}

/** How bwrap 0.4 to 0.11 says that it may not make a namespace, or use one. */
const REFUSED =
  /uid map|RTM_NEWADDR|new namespace failed|no permissions to create|namespaces exceeded/i;

/** Reads a file of /proc/sys; undefined if there is none. */
type Read = (path: string) => string | undefined;

/**
 * Adds what the machine says to a complaint of bwrap.
 *
 * @param program the path of bwrap
 */
export function explained(
  complaint: string,
  program: string,
  read: Read = readOnce,
): Refusal {
  const why = `${program} does not work here: ${complaint}`;
  if (!REFUSED.test(complaint)) return { why };
  const is = (path: string, value: string) => read(path)?.trim() === value;
  // https://discourse.ubuntu.com/t/37626
  if (is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
    return {
      why: `${why}; AppArmor refuses user namespaces to programs without a profile`,
      mend: `allow them for bubblewrap: ${profileLine(program)}`,
    };
  }
  for (const [name, value] of SWITCHES) {
    if (!is(`/proc/sys/${name.replaceAll(".", "/")}`, "0")) continue;
    const line = `echo ${name}=${value} | sudo tee /etc/sysctl.d/60-userns.conf`;
    return {
      why: `${why}; ${name} is 0 on this machine`,
      mend: `allow user namespaces: ${line} && sudo sysctl --system`,
    };
  }
  return { why };
}

/** Settings of kernels that switch user namespaces off with 0, and a usual value. */
const SWITCHES = [
  // Of Debian's kernels.
  ["kernel.unprivileged_userns_clone", 1],
  ["user.max_user_namespaces", 15_000],
] as const;

/** A shell line that gives a program a profile with which it may do what it could without any. */
function profileLine(program: string): string {
  const profile = "abi <abi/4.0>,\\ninclude <tunables/global>\\n" +
    `profile bwrap ${program} flags=(unconfined) {\\n  userns,\\n}\\n`;
  return `printf '${profile}' | sudo tee /etc/apparmor.d/bwrap && ` +
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap";
}

function readOnce(path: string): string | undefined {
  const files = KernelFiles.open();
  try {
    return files?.read(path);
  } finally {
    files?.[Symbol.dispose]();
  }
}
