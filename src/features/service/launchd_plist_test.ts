import { assertEquals, assertMatch } from "@std/assert";
import { parse } from "plist";
import { launchdPlist, readLaunchdPlist } from "./launchd_plist.ts";

const PROGRAM = "/Users/me & co/.svc/bin/<svc>";
const ENVIRONMENT = new Map([["PATH", '/opt/"a"/bin:/usr/bin'], ["SVC_HOME", "/Users/me/x"]]);

Deno.test("a plist parser reads the agent with the keys that launchd knows", () => {
  const text = launchdPlist({
    program: PROGRAM,
    environment: ENVIRONMENT,
    stderr_path: "/Users/me/.svc/log/launchd.log",
  });
  assertMatch(
    text,
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<!DOCTYPE plist PUBLIC "-\/\/Apple/,
  );
  assertEquals(parse(text), {
    Label: "svc.daemon",
    ProgramArguments: [PROGRAM, "serve", "--unit"],
    EnvironmentVariables: Object.fromEntries(ENVIRONMENT),
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 10,
    ExitTimeOut: 45,
    ProcessType: "Interactive",
    StandardErrorPath: "/Users/me/.svc/log/launchd.log",
  });
  assertEquals(readLaunchdPlist(text), { program: PROGRAM, environment: ENVIRONMENT });
});

Deno.test("of a file that is no agent of svc nothing is read", () => {
  for (const text of ["", "not XML", "<plist><dict></dict></plist>"]) {
    assertEquals(readLaunchdPlist(text), { environment: new Map() });
  }
});
