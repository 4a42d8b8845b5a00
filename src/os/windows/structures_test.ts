import { assertEquals } from "@std/assert";
import { addressOf, Instance, readWide, type Structure, wide } from "./structure.ts";
import * as structures from "./structures.ts";

/** Sizes and offsets of x64 Windows, from the documentation and the headers of its SDK. */
const DOCUMENTED: Record<keyof typeof structures, [number, Record<string, number>]> = {
  SECURITY_ATTRIBUTES: [24, { nLength: 0, lpSecurityDescriptor: 8, bInheritHandle: 16 }],
  IO_STATUS_BLOCK: [16, { Status: 0, Information: 8 }],
  TOKEN_USER: [16, { Sid: 0, Attributes: 8 }],
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION: [144, {
    PerProcessUserTimeLimit: 0,
    PerJobUserTimeLimit: 8,
    LimitFlags: 16,
    MinimumWorkingSetSize: 24,
    MaximumWorkingSetSize: 32,
    ActiveProcessLimit: 40,
    Affinity: 48,
    PriorityClass: 56,
    SchedulingClass: 60,
    ReadOperationCount: 64,
    WriteOperationCount: 72,
    OtherOperationCount: 80,
    ReadTransferCount: 88,
    WriteTransferCount: 96,
    OtherTransferCount: 104,
    ProcessMemoryLimit: 112,
    JobMemoryLimit: 120,
    PeakProcessMemoryUsed: 128,
    PeakJobMemoryUsed: 136,
  }],
  SERVICE_TABLE_ENTRYW: [16, { lpServiceName: 0, lpServiceProc: 8 }],
  SERVICE_STATUS: [28, {
    dwServiceType: 0,
    dwCurrentState: 4,
    dwControlsAccepted: 8,
    dwWin32ExitCode: 12,
    dwServiceSpecificExitCode: 16,
    dwCheckPoint: 20,
    dwWaitHint: 24,
  }],
  SERVICE_STATUS_PROCESS: [36, {
    dwServiceType: 0,
    dwCurrentState: 4,
    dwControlsAccepted: 8,
    dwWin32ExitCode: 12,
    dwServiceSpecificExitCode: 16,
    dwCheckPoint: 20,
    dwWaitHint: 24,
    dwProcessId: 28,
    dwServiceFlags: 32,
  }],
  QUERY_SERVICE_CONFIGW: [64, {
    dwServiceType: 0,
    dwStartType: 4,
    dwErrorControl: 8,
    lpBinaryPathName: 16,
    lpLoadOrderGroup: 24,
    dwTagId: 32,
    lpDependencies: 40,
    lpServiceStartName: 48,
    lpDisplayName: 56,
  }],
  SERVICE_DESCRIPTIONW: [8, { lpDescription: 0 }],
  SERVICE_DELAYED_AUTO_START_INFO: [4, { fDelayedAutostart: 0 }],
  SERVICE_FAILURE_ACTIONSW: [40, {
    dwResetPeriod: 0,
    lpRebootMsg: 8,
    lpCommand: 16,
    cActions: 24,
    lpsaActions: 32,
  }],
  SC_ACTION: [8, { Type: 0, Delay: 4 }],
  SERVICE_FAILURE_ACTIONS_FLAG: [4, { fFailureActionsOnNonCrashFailures: 0 }],
  SERVICE_PRESHUTDOWN_INFO: [4, { dwPreshutdownTimeout: 0 }],
  LSA_OBJECT_ATTRIBUTES: [48, {
    Length: 0,
    RootDirectory: 8,
    ObjectName: 16,
    Attributes: 24,
    SecurityDescriptor: 32,
    SecurityQualityOfService: 40,
  }],
  LSA_UNICODE_STRING: [16, { Length: 0, MaximumLength: 2, Buffer: 8 }],
};

for (const [name, [size, offsets]] of Object.entries(DOCUMENTED)) {
  Deno.test(`${name} lies in memory as documented`, () => {
    const laid_out: Structure = structures[name as keyof typeof structures];
    const found = Object.entries(laid_out.members).map(([member, { offset }]) => [member, offset]);
    assertEquals([laid_out.size, Object.fromEntries(found)], [size, offsets]);
  });
}

Deno.test("members are written and read little-endian, beside each other", () => {
  const it = new Instance(structures.SECURITY_ATTRIBUTES)
    .set("nLength", 24)
    .set("lpSecurityDescriptor", 0x1122_3344_5566_7788n)
    .set("bInheritHandle", 0xffff_fffe);
  assertEquals([...it.bytes.subarray(0, 18)], [
    ...[24, 0, 0, 0],
    ...[0, 0, 0, 0],
    ...[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11],
    ...[0xfe, 0xff],
  ]);
  assertEquals(it.number("bInheritHandle"), 0xffff_fffe);
  assertEquals(it.bigint("lpSecurityDescriptor"), 0x1122_3344_5566_7788n);
});

Deno.test("a wide text is UTF-16 with a zero at its end", () => {
  assertEquals([...wide("aé😀")], [0x61, 0, 0xe9, 0, 0x3d, 0xd8, 0x00, 0xde, 0, 0]);
  assertEquals([...wide("")], [0, 0]);
});

Deno.test({
  name: "a member that is set to bytes points at them, and they stay",
  ignore: Deno.permissions.querySync({ name: "ffi" }).state !== "granted",
  fn() {
    const text = wide("svc");
    const it = new Instance(structures.SERVICE_DESCRIPTIONW).set("lpDescription", text);
    assertEquals(it.bigint("lpDescription"), addressOf(text));
    assertEquals(readWide(it.pointer("lpDescription")!), "svc");
    assertEquals("held" in it.bytes && it.bytes.held, [text]);
  },
});
