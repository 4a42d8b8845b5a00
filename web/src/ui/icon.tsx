const PATHS = {
  back: "M10 4L6 8l4 4",
  bell: "M4 11h8M5 11V7a3 3 0 0 1 6 0v4M7.3 13.2a.8.8 0 0 0 1.4 0",
  copy: "M5.5 5.5h7v7h-7zM10.5 5.5v-2h-7v7h2",
  check: "M3.5 8.5l3 3 6-7",
  chevron: "M6 4l4 4-4 4",
  close: "M4 4l8 8M12 4l-8 8",
  command:
    "M6 6h4v4H6zM6 6H4.5A1.5 1.5 0 1 1 6 4.5zM10 6V4.5A1.5 1.5 0 1 1 11.5 6zM10 10h1.5a1.5 1.5 0 1 1-1.5 1.5zM6 10v1.5A1.5 1.5 0 1 1 4.5 10z",
  down: "M8 3v9M4.5 8.5L8 12l3.5-3.5",
  folder: "M2 4.5a1 1 0 0 1 1-1h3.2l1.5 1.6H13a1 1 0 0 1 1 1V12a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1z",
  cost: "M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6",
  edit: "M3 13l.7-3L10.5 3.2a1 1 0 0 1 1.4 0l.9.9a1 1 0 0 1 0 1.4L6 12.3z",
  lanes: "M3 3.5h10M3 8h7M3 12.5h4",
  memory:
    "M3 4.5c0-1.1 2.2-2 5-2s5 .9 5 2-2.2 2-5 2-5-.9-5-2zM3 4.5v7c0 1.1 2.2 2 5 2s5-.9 5-2v-7M3 8c0 1.1 2.2 2 5 2s5-.9 5-2",
  minus: "M3 8h10",
  missions: "M2.5 3h4.5v3.5H2.5zM9 9.5h4.5V13H9zM4.75 6.5v4.75H9",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  more:
    "M3.5 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM8 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1zM12.5 7.5a.5.5 0 1 0 0 1 .5.5 0 0 0 0-1z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  pin: "M8 10v4M5 2.5h6M6 2.5V7l-1.5 3h7L10 7V2.5",
  play: "M5 3.2l7.5 4.8L5 12.8z",
  plus: "M8 3v10M3 8h10",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4L14 14",
  send: "M8 13V3M4 7l4-4 4 4",
  sessions: "M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z",
  settings:
    "M2.5 4.5h5M11 4.5h2.5M2.5 11.5H5M8.5 11.5h5M9.2 2.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4zM6.8 9.8a1.7 1.7 0 1 0 0 3.4 1.7 1.7 0 0 0 0-3.4z",
  stop: "M4 4h8v8H4z",
  tasks: "M2.5 4l1.2 1.2L6 3M2.5 11l1.2 1.2L6 10M8.5 4.5h5M8.5 11.5h5",
  terminal: "M3 4.5L6.5 8 3 11.5M8.5 12H13",
  tools:
    "M10.5 2.5a3 3 0 0 0-2.8 4.1l-4.9 4.9a1.2 1.2 0 1 0 1.7 1.7l4.9-4.9a3 3 0 0 0 3.9-3.9l-1.8 1.8-1.7-1.7z",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
  undo: "M6 3.5L3 6.5l3 3M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6",
  up: "M8 13V4M4.5 7.5L8 4l3.5 3.5",
  warning: "M8 2.5l6 10.5H2zM8 6.5v3M8 11.4v.1",
  changes: "M8 2.5v6M5 5.5h6M5 12.5h6",
  columns: "M2.5 3h11v10h-11zM8 3v10",
  whole: "M2.5 8h11M5 5.5L2.5 8 5 10.5M11 5.5L13.5 8 11 10.5",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  repository:
    "M4.5 2.5v8M4.5 10.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3zM11.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM11.5 5.5c0 3-4.5 2.5-6.5 4.5",
} as const;

export type IconName = keyof typeof PATHS;

/** A sign beside words; it says nothing of its own. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
