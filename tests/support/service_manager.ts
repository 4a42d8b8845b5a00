/** Keeps tests away from the service manager and the home directory of the person who runs them. */
import { join } from "@std/path";
import type { Place } from "./svc.ts";

/**
 * Has a place see no service manager and no unit, whatever there is on the machine: nothing is ever
 * installed on it by a test.
 */
export function takeServiceManager(place: Place): void {
  isolateUser(place);
  const bin = place.mkdir("no-manager");
  for (const name of ["systemctl", "loginctl", "launchctl"]) {
    Deno.writeTextFileSync(join(bin, name), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  }
  place.env.PATH = `${bin}:${place.env.PATH}`;
}

/** Gives a place directories of its own for everything that is found below a person's home. */
export function isolateUser(place: Place): void {
  place.env.HOME = place.mkdir("user");
  place.env.XDG_CONFIG_HOME = join(place.env.HOME, ".config");
  place.env.XDG_RUNTIME_DIR = place.mkdir("runtime");
}
