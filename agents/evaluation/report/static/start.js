startCurves();
startGroups();
startEpisodes();
