// What the pages carry and our scripts did not define.
declare const DOCUMENTATION_OPTIONS: { SHOW_SEARCH_SUMMARY: boolean };
