export function mark(name: string): void {
  Deno.writeTextFileSync(
    "/tmp/L.marks",
    `${(performance.timeOrigin + performance.now()).toFixed(1)} ${name}\n`,
    { append: true },
  );
}
