/** A path in a line, cut at its beginning where there is no room. */
export function Path({ path }: { path: string }) {
  return (
    <span class="path clip" title={path}>
      <bdi>{path}</bdi>
    </span>
  );
}
