"""Why a query plan became slow, said."""
