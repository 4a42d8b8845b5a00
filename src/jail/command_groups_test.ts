import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { granted } from "../../tests/support/permissions.ts";
import { readDirIfAny } from "../os/files.ts";
import { CommandGroups, delegatedGroup } from "./command_groups.ts";

/** A directory in the place of the kernel's, with what was written to its files. */
class FakeGroups implements Disposable {
  readonly mount = Deno.makeTempDirSync({ prefix: "svc-groups-" });
  readonly own = "/user.slice/svc.service";
  readonly directory = join(this.mount, this.own);
  readonly written = new Map<string, string>();
  /** Files that the kernel refuses to write. */
  readonly refused = new Set<string>();
  readonly places = { self: "self", mount: this.mount };

  constructor() {
    this.written.set("self", `4:memory:/other\n0::${this.own}\n`);
    this.written.set(join(this.mount, "cgroup.controllers"), "cpu memory pids\n");
    Deno.mkdirSync(this.directory, { recursive: true });
    for (const name of ["cgroup.procs", "cgroup.subtree_control"]) {
      Deno.writeTextFileSync(join(this.directory, name), "");
    }
    this.set("cgroup.controllers", "memory pids\n");
    this.set("cgroup.procs", "10\n11\n");
  }

  set(name: string, text: string): void {
    this.written.set(join(this.directory, name), text);
  }

  read(path: string): string | undefined {
    return this.written.get(path);
  }

  write(path: string, text: string): boolean {
    if ([...this.refused].some((name) => path.endsWith(name))) return false;
    this.written.set(path, text);
    return true;
  }

  found(pids = [10, 11]) {
    return delegatedGroup(this, pids, this.places);
  }

  /** What was written in a group of the daemon's, by its path from there. */
  of(name: string): string | undefined {
    return this.written.get(join(this.directory, name));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.mount, { recursive: true });
  }
}

const ignore = !granted("read", "write") || Deno.build.os === "windows";

Deno.test({
  name: "a group is used when it is the daemon's alone and has the controllers",
  ignore,
  fn() {
    using fake = new FakeGroups();
    assertEquals(fake.found(), { directory: fake.directory });
    assertEquals(fake.found([10]), { why: "other programs are in the daemon's group" });
    fake.set("cgroup.controllers", "cpu memory\n");
    assertEquals(fake.found(), { why: "the daemon's group lacks the controllers pids" });
    fake.written.delete(join(fake.mount, "cgroup.controllers"));
    assertEquals(fake.found(), { why: "this machine does not use cgroup v2 alone" });
  },
});

Deno.test({
  name: "a daemon that has moved to its leaf, finds the group above it",
  ignore,
  fn() {
    using fake = new FakeGroups();
    fake.written.set("self", `0::${fake.own}/svc-daemon\n`);
    assertEquals(fake.found(), { directory: fake.directory });
    fake.written.set("self", "0::/\n");
    assertEquals(fake.found(), { why: "svc runs in the root group" });
  },
});

Deno.test({
  name: "commands of a session share a group with its limits, and each has one of its own in it",
  ignore,
  fn() {
    using fake = new FakeGroups();
    const groups = CommandGroups.open(fake, fake.directory)!;
    assertEquals(fake.of("svc-daemon/cgroup.procs"), "11");
    assertEquals(fake.of("cgroup.subtree_control"), "+memory +pids");
    const limits = { memory_bytes: 300 << 20, tasks: 4096 };
    const [one, two] = [groups.begin("a", limits)!, groups.begin("a", limits)!];
    const other = groups.begin("b", { memory_bytes: 0, tasks: 0 })!;
    const above = (path: string) => path.slice(0, path.lastIndexOf("/", path.lastIndexOf("/") - 1));
    assertEquals(above(one.join), above(two.join));
    assert(above(one.join) !== above(other.join));
    assert(one.join !== two.join);
    const read = (path: string, name: string) => fake.read(join(path, name));
    assertEquals(read(above(one.join), "memory.max"), String(300 << 20));
    assertEquals(read(above(one.join), "memory.swap.max"), "0");
    assertEquals(read(above(one.join), "pids.max"), "4096");
    assertEquals(read(above(other.join), "memory.max"), "max");
    assertEquals(read(above(other.join), "pids.max"), "max");
    assertEquals(read(join(one.join, ".."), "memory.oom.group"), "1");
    fake.write(join(one.join, "../memory.events"), "low 0\noom 2\noom_kill 3\noom_group_kill 1\n");
    fake.write(join(two.join, "../memory.events"), "low 0\noom 2\noom_kill 0\noom_group_kill 0\n");
    assertEquals([one.outOfMemory(), two.outOfMemory()], [true, false]);
    for (const each of [one, two, other]) each.remove();
    const left = readDirIfAny(fake.directory).filter(({ isDirectory }) => isDirectory);
    assertEquals(left.map(({ name }) => name), ["svc-daemon"]);
  },
});

Deno.test({
  name: "where the kernel refuses a limit there is no group, and nothing is left of it",
  ignore,
  fn() {
    using fake = new FakeGroups();
    const groups = CommandGroups.open(fake, fake.directory)!;
    fake.refused.add("pids.max");
    assertEquals(groups.begin("a", { memory_bytes: 1 << 30, tasks: 64 }), undefined);
    const left = readDirIfAny(fake.directory).filter(({ isDirectory }) => isDirectory);
    assertEquals(left.map(({ name }) => name), ["svc-daemon"]);
    fake.refused.add("cgroup.subtree_control");
    assertEquals(CommandGroups.open(fake, fake.directory), undefined);
  },
});
