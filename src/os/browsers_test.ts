import { assert, assertEquals } from "@std/assert";
import { browserPlaces } from "./browsers.ts";

function envOf(values: Record<string, string>) {
  return (name: string): string | undefined => values[name];
}

Deno.test("a browser is looked for on the PATH before the usual places, relative entries left out", () => {
  const places = browserPlaces(envOf({ PATH: "/opt/bin:.:bin:/usr/bin" }), "linux");
  assertEquals(places.slice(0, 4), [
    "/opt/bin/chromium",
    "/usr/bin/chromium",
    "/usr/local/bin/chromium",
    "/snap/bin/chromium",
  ]);
  assert(places.includes("/usr/bin/microsoft-edge"));
});

Deno.test("without a PATH the usual places are left, on macOS its applications come first", () => {
  assertEquals(browserPlaces(envOf({}), "linux")[0], "/usr/bin/chromium");
  assertEquals(
    browserPlaces(envOf({}), "darwin")[1],
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  );
});

Deno.test("on Windows a browser is below one of the folders for programs that are there", () => {
  const env = envOf({ "ProgramFiles(x86)": "C:\\Program Files (x86)", LOCALAPPDATA: "C:\\l" });
  assertEquals(browserPlaces(env, "windows").slice(0, 3), [
    "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\l\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
  ]);
});
