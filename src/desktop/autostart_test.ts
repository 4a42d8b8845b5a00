import { assertEquals, assertMatch } from "@std/assert";
import { parse } from "plist";
import { autostart, commandLine, desktopEntry, launchAgent } from "./autostart.ts";

const ODD = ["/home/me/my apps/svc", 'a "b"', "100%", "$HOME", "c:\\d\\"];

Deno.test("a desktop entry quotes what the shell of a desktop would read otherwise", () => {
  const exec = desktopEntry(ODD).match(/^Exec=(.*)$/m)![1];
  assertEquals(
    exec,
    '"/home/me/my apps/svc" "a \\\\"b\\\\"" "100%%" "\\\\$HOME" "c:\\\\\\\\d\\\\\\\\"',
  );
  assertMatch(desktopEntry(["svc"]), /^\[Desktop Entry\]\nType=Application\n/);
});

Deno.test("a launchd agent has the arguments as they are", async () => {
  assertEquals(parse(await launchAgent(["/a <b> & c", ...ODD])), {
    Label: "svc.desktop",
    ProgramArguments: ["/a <b> & c", ...ODD],
    RunAtLoad: true,
    ProcessType: "Interactive",
  });
});

Deno.test("a Windows command line doubles backslashes before quotes alone", () => {
  assertEquals(
    commandLine(["C:\\Program Files\\svc.exe", 'a "b"', "c\\", 'd\\"e']),
    '"C:\\Program Files\\svc.exe" "a \\"b\\"" "c\\\\" "d\\\\\\"e"',
  );
});

Deno.test("each system has its own place for what starts at login", () => {
  const env = (name: string) => ({ HOME: "/home/me" } as Record<string, string>)[name];
  const place = (os: typeof Deno.build.os) => autostart({ env, argv: ["svc"], os }).place;
  assertEquals(place("linux"), "/home/me/.config/autostart/svc-desktop.desktop");
  assertEquals(place("darwin"), "/home/me/Library/LaunchAgents/svc.desktop.plist");
  assertMatch(place("windows"), /^HKCU\\.*\\CurrentVersion\\Run\\svc$/);
});
