"""Where the incidents of the plan's benchmark come from: two generators, one answer each."""
