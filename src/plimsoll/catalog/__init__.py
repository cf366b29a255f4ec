"""Published facts as data files with source and date; loading, checking and refreshing them."""
