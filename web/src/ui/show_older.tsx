import { Button } from "./button.tsx";

/** At the end of a list of which there is more. */
export function ShowOlder({ onClick }: { onClick(): unknown }) {
  return (
    <div class="more">
      <Button onClick={onClick}>Show older</Button>
    </div>
  );
}
