import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { handledRights, landlockAbi, rightsOf } from "./landlock.ts";
import { type LandlockRule, launcher, type LaunchOptions } from "./landlock_launcher.ts";
import { syscallFilter } from "./syscall_filter.ts";

const abi = granted("ffi", "run", "write", "sys") ? landlockAbi() ?? 0 : 0;
const ignore = abi === 0;

function options(rules: readonly LandlockRule[], more: Partial<LaunchOptions> = {}): LaunchOptions {
  const filter = syscallFilter("x86_64", { network: false, truncate: false, signals: false })!;
  return { abi: 6, rules, filter, network: false, capabilities: 0, ...more };
}

for (const [arch, machine] of [["x86_64", 62], ["aarch64", 183]] as const) {
  Deno.test(`the program for ${arch} is an executable without a writable part`, () => {
    const rules = ["/usr", "/etc"].map((path) => ({ path, rights: 13 }));
    const file = launcher(options(rules), arch)!;
    const view = new DataView(file.buffer);
    assertEquals(view.getUint32(0), 0x7f454c46);
    assertEquals(view.getUint16(18, true), machine);
    assertEquals(view.getUint32(68, true), 5, "readable and executable");
    const entry = Number(view.getBigUint64(24, true) - view.getBigUint64(80, true));
    assert(entry >= 176 && entry < file.length);
    // A rule takes its entry and its path; the rest is the same.
    const more = launcher(options([...rules, { path: "/usr/share", rights: 13 }]), arch)!;
    assert(more.length - file.length < 50, String(more.length - file.length));
    assert(file.length < 6_000, String(file.length));
  });

  Deno.test(`the rules for ${arch} are in its data, those it needs first`, () => {
    const file = launcher(
      options([
        { path: "/usr", rights: 0x0d },
        { path: "/here", rights: 0x7fbf, required: true },
      ]),
      arch,
    )!;
    const view = new DataView(file.buffer);
    const text = (address: bigint) => {
      const at = Number(address) - 0x400000;
      return new TextDecoder().decode(file.subarray(at, file.indexOf(0, at)));
    };
    // Each entry: rights, the number of the opened path, the address of its name.
    const found: [number, string][] = [];
    for (let at = 176; at + 24 <= file.length; at += 4) {
      const rights = view.getBigUint64(at, true);
      if (rights !== 0x0dn && rights !== 0x7fbfn) continue;
      if (view.getBigUint64(at + 8, true) !== 9n) continue;
      found.push([Number(rights), text(view.getBigUint64(at + 16, true))]);
    }
    assertEquals(found, [[0x7fbf, "/here"], [0x0d, "/usr"]]);
  });
}

Deno.test("a kernel is asked only for what it knows", () => {
  assertEquals([1, 2, 3, 4, 5, 7].map(handledRights), [
    0x1fff,
    0x3fff,
    0x7fff,
    0x7fff,
    0xffff,
    0xffff,
  ]);
  for (const version of [1, 2, 3, 5]) {
    for (const allowed of ["look", "read", "run", "write", "device"] as const) {
      for (const kind of ["file", "directory"] as const) {
        const rights = rightsOf(allowed, kind, version);
        assertEquals(rights & ~handledRights(version), 0, `${allowed} ${kind} ${version}`);
        // make_char, make_block
        assertEquals(rights & (1 << 6 | 1 << 11), 0);
      }
    }
  }
  // The kernel refuses a rule about a file that speaks of directories.
  assertEquals(rightsOf("write", "file", 5), 0b0100_0000_0000_0111);
  assertEquals(rightsOf("look", "file", 5), 0);
});

/** Runs a line under rules, from a file. */
async function run(
  line: string,
  rules: LandlockRule[],
  more: Partial<LaunchOptions> = {},
): Promise<[code: number, stdout: string, stderr: string]> {
  const directory = Deno.makeTempDirSync();
  const program = `${directory}/program`;
  const shared = { network: false, truncate: false, signals: false };
  const filter = syscallFilter(Deno.build.arch, shared)!;
  const bytes = launcher({ ...options(rules), abi, filter, ...more })!;
  Deno.writeFileSync(program, bytes, { mode: 0o755 });
  try {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: ["/bin/sh", "-c", line],
      stdin: "null",
    }).output();
    const [said, complained] = [stdout, stderr].map((it) => new TextDecoder().decode(it));
    return [code, said.trim(), complained.trim()];
  } finally {
    Deno.removeSync(directory, { recursive: true });
  }
}

function system(): LandlockRule[] {
  const real = ["/usr", "/bin", "/lib", "/lib64", "/etc"].flatMap((path) => {
    try {
      return [Deno.realPathSync(path)];
    } catch {
      return [];
    }
  });
  return [...new Set(real)].map((path) => ({ path, rights: rightsOf("run", "directory", abi) }));
}

Deno.test(
  { name: "a command reaches what its rules allow, and nothing else", ignore },
  async () => {
    const [open, closed] = [1, 2].map(() => Deno.realPathSync(Deno.makeTempDirSync()));
    Deno.writeTextFileSync(`${closed}/secret`, "secret");
    const rules = [
      ...system(),
      { path: open, rights: rightsOf("write", "directory", abi), required: true },
      { path: "/missing", rights: 13 },
    ];
    assertEquals(await run(`echo ran >'${open}/file'; cat '${open}/file'`, rules), [0, "ran", ""]);
    const [code, said, complained] = await run(
      `cat '${closed}/secret' '${open}/../${closed.split("/").at(-1)}/secret'`,
      rules,
    );
    assertEquals([code, said], [1, ""]);
    assertStringIncludes(complained, "Permission denied");
    const [, status] = await run("cat /proc/self/status", [...rules, {
      path: "/proc",
      rights: 12,
    }]);
    assertStringIncludes(status, "NoNewPrivs:\t1");
    assertStringIncludes(status, "Seccomp:\t2");
    assertStringIncludes(status, "CapEff:\t0000000000000000");
    assertEquals(
      await run("exec 5>&1; ls /proc/self/fd", [...rules, { path: "/proc", rights: 12 }]),
      [
        0,
        "0\n1\n2\n3\n5",
        "",
      ],
    );
    for (const each of [open, closed]) Deno.removeSync(each, { recursive: true });
  },
);

Deno.test({ name: "where a step fails, it says so and runs nothing", ignore }, async () => {
  const fails = async (says: string, rules: LandlockRule[], more: Partial<LaunchOptions> = {}) => {
    const [code, said, complained] = await run("echo ran", [...system(), ...rules], more);
    assertEquals([code, said], [126, ""]);
    assertStringIncludes(complained, `svc: the command did not start: ${says}`);
    assertEquals(complained.split("\n").length, 1);
  };
  await fails("its directory is missing", [{ path: "/missing", rights: 13, required: true }]);
  const directory = Deno.realPathSync(Deno.makeTempDirSync());
  Deno.symlinkSync("/", `${directory}/link`);
  await fails("its directory is missing, or a link", [
    { path: `${directory}/link`, rights: 13, required: true },
  ]);
  await fails("the kernel refused a Landlock rule", [{ path: "/etc/passwd", rights: 13 }]);
  await fails("the kernel refused the filter", [], { filter: new Uint8Array() });
  await fails("there was no process or shell", [], { rules: [] });
  Deno.removeSync(directory, { recursive: true });
});

Deno.test({ name: "an older kernel's rules hold as far as it has them", ignore }, async () => {
  const [open, closed] = [1, 2].map(() => Deno.realPathSync(Deno.makeTempDirSync()));
  Deno.writeTextFileSync(`${closed}/secret`, "secret");
  for (let older = 1; older <= abi; older++) {
    const rules = system().map((rule) => ({
      ...rule,
      rights: rightsOf("run", "directory", older),
    }));
    rules.push({ path: open, rights: rightsOf("write", "directory", older) });
    const filter = syscallFilter(Deno.build.arch, {
      network: false,
      truncate: true,
      signals: true,
    })!;
    const line = `echo ran; mkdir -p '${open}/a'; echo x >'${open}/a/b'; cat '${closed}/secret'`;
    const [, said] = await run(line, rules, { abi: older, filter });
    assertEquals(said, "ran", `version ${older}`);
  }
  for (const each of [open, closed]) Deno.removeSync(each, { recursive: true });
});
