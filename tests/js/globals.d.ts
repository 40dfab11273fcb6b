// What the pages carry and our scripts did not define.
interface Window {
}
declare const DOCUMENTATION_OPTIONS: { SHOW_SEARCH_SUMMARY: boolean };
