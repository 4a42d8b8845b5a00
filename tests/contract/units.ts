/** A place whose background units go nowhere but into itself: `systemctl` only notes its calls. */
import { join } from "@std/path";
import { Place } from "../support/svc.ts";
import { exists, ownHome } from "./shared.ts";

/** A place to install a unit in. */
export function installPlace(): Place {
  const place = new Place();
  const user = ownHome(place);
  place.env.XDG_CONFIG_HOME = join(user, ".config");
  place.env.XDG_RUNTIME_DIR = place.mkdir("runtime");
  const bin = place.mkdir("fake-bin");
  for (const name of ["systemctl", "loginctl"]) {
    const script = `#!/bin/sh\necho "${name} $*" >> ${join(place.dir, "calls")}\nexit 0\n`;
    Deno.writeTextFileSync(join(bin, name), script, { mode: 0o755 });
  }
  place.env.PATH = `${bin}:${place.env.PATH}`;
  return place;
}

/** What the service manager was called with. */
export function managerCalls(place: Place): string {
  const path = join(place.dir, "calls");
  return exists(path) ? Deno.readTextFileSync(path) : "";
}

/** The unit files below a place. */
export function units(place: Place): string[] {
  const found: string[] = [];
  const look = (dir: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(dir)) {
      const path = join(dir, name);
      if (isDirectory) look(path);
      else if (name.endsWith(".service")) found.push(path);
    }
  };
  look(place.dir);
  return found;
}
