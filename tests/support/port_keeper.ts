/** The processes that keep the ports of daemons (Linux). */
import { join } from "@std/path";
import { gone, type Place } from "./svc.ts";

/** The processes that hold the port of a place's daemon, or of the one before. */
export function portKeepers({ home }: Pick<Place, "home">): number[] {
  const record = join(home, "port.json");
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => {
    try {
      const args = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
      return args.includes("svc-port") && args.includes(record);
    } catch {
      // No process, or gone meanwhile.
      return false;
    }
  });
}

/** The process that the record of a place names; undefined while there is none. */
export function recordedKeeper({ home }: Pick<Place, "home">): number | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(join(home, "port.json"))).keeper;
  } catch {
    return undefined;
  }
}

/** Ends what holds the port of a place's daemon, so that anybody can have it after the daemon. */
export async function killKeepers(place: Pick<Place, "home">): Promise<void> {
  for (const pid of portKeepers(place)) {
    Deno.kill(pid, "SIGKILL");
    await gone(pid);
  }
}
