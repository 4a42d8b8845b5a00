import type { Sandbox } from "./sandbox.ts";
import { SINCE } from "./landlock.ts";

/**
 * Says in a few words what limits a command, for the person who decides about it; undefined where
 * the whole sandbox does.
 *
 * @param network whether the command has the network
 */
export function heldText(
  { kind }: Pick<Sandbox, "kind">,
  network: boolean,
): string | undefined {
  switch (kind) {
    case "bubblewrap":
      return undefined;
    case "landlock":
      return `limited by Landlock: ${network ? "" : "no network, "}no files of yours outside; ` +
        "it can change .git and .svc here";
    case "seatbelt":
      return `limited by Seatbelt: ${network ? "" : "no network, "}no files of yours outside`;
    case "none":
      return "runs with all your rights";
  }
}

/** Returns what Landlock or Seatbelt does not hold, as clauses after "they can". */
export function notHeld({ kind, abi = 0 }: Pick<Sandbox, "kind" | "abi">): string[] {
  if (kind === "seatbelt") {
    return ["see which files there are", "use semaphores of your other programs"];
  }
  return [
    "change .git and .svc in their directory",
    "see which files and programs there are",
    "change the mode and times of your own files",
    ...(abi < SINCE.scopes ? ["end your other programs"] : []),
  ];
}
